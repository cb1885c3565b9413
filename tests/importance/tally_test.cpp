#include "importance/tally.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/random.h"
#include "types/score.h"

namespace sti {
namespace {

TEST(LossUnits, AreOf2ToTheMinus32AndBounded) {
  EXPECT_EQ(LossUnits(0), 0);
  EXPECT_EQ(LossUnits(1), int64_t{1} << 32);
  EXPECT_EQ(LossUnits(-0.5), -(int64_t{1} << 31));
  EXPECT_EQ(LossUnits(std::ldexp(0.75, -32)), 1);
  EXPECT_EQ(LossUnits(1e30), int64_t{1} << 47);
  EXPECT_EQ(LossUnits(-HUGE_VAL), -(int64_t{1} << 47));
  EXPECT_FALSE(LossUnits(std::nan("")));
}

struct Sample {
  Outcome outcome;
  Outcome base;
};

std::vector<Sample> Samples(size_t count) {
  TestRandom random(4);
  std::vector<Sample> samples(count);
  const auto loss = [&] { return static_cast<int64_t>(random.Below(uint64_t{1} << 36)) - 1000; };
  for (Sample& sample : samples) {
    sample.outcome = {random.Below(3) != 0, loss()};
    sample.base = {random.Below(2) != 0, loss()};
  }
  return samples;
}

TEST(Tally, SumsAreTheSameHoweverTheyAreGrouped) {
  const auto samples = Samples(1000);
  Tally whole;
  for (const Sample& s : samples) AddOutcome(whole, s.outcome, s.base);
  for (const size_t cut : {0, 1, 17, 500, 1000}) {
    Tally first;
    Tally second;
    for (size_t i = samples.size(); i > 0; --i) {
      AddOutcome(i <= cut ? first : second, samples[i - 1].outcome, samples[i - 1].base);
    }
    AddTally(second, first);
    EXPECT_EQ(second, whole) << cut;
  }
}

TEST(Tally, MeansAndErrorsAreThoseOfDoubles) {
  constexpr double kUnits = 4294967296.0;
  const auto samples = Samples(400);
  Tally tally;
  Tally base;
  RunningMean right;
  RunningMean loss;
  RunningMean gain;
  RunningMean change;
  for (const Sample& s : samples) {
    AddOutcome(tally, s.outcome, s.base);
    AddOutcome(base, s.base, s.base);
    right.Add(s.outcome.right ? 1 : 0);
    loss.Add(static_cast<double>(s.outcome.loss) / kUnits);
    gain.Add((s.outcome.right ? 1 : 0) - (s.base.right ? 1 : 0));
    change.Add(static_cast<double>(s.outcome.loss - s.base.loss) / kUnits);
  }
  EXPECT_EQ(ShareRight(tally), right.mean());
  EXPECT_NEAR(MeanLoss(tally), loss.mean(), 1e-9);
  EXPECT_NEAR(ShareRightError(tally), right.standard_error(), 1e-12);
  EXPECT_NEAR(MeanLossError(tally), loss.standard_error(), 1e-9);
  EXPECT_NEAR(ShareRightChangeError(tally), gain.standard_error(), 1e-12);
  EXPECT_NEAR(LossChangeError(tally, base), change.standard_error(), 1e-9);
  EXPECT_EQ(LossChangeError(base, base), 0);
  EXPECT_EQ(base.gained + base.lost, 0U);
}

TEST(Tally, TheLargestLossesOfManyExamplesFit) {
  const int64_t most = *LossUnits(HUGE_VAL);
  Tally tally;
  AddOutcome(tally, {true, most}, {false, -most});
  for (int doubling = 0; doubling < 31; ++doubling) AddTally(tally, Tally(tally));
  EXPECT_EQ(tally.examples, uint64_t{1} << 31);
  EXPECT_EQ(MeanLoss(tally), 32768.0);
  EXPECT_EQ(tally.difference_squares, (WideNumber{0, uint64_t{1} << (2 * 48 + 31 - 64)}));
  EXPECT_EQ(MeanLossError(tally), 0);
}

TEST(Tally, NothingIsZero) {
  EXPECT_EQ(ShareRight({}), 0);
  EXPECT_EQ(MeanLoss({}), 0);
  EXPECT_EQ(ShareRightError({}), 0);
}

}  // namespace

}  // namespace sti
