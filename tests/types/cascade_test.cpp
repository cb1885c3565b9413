#include "types/cascade.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "types/plan.h"
#include "types/score.h"

namespace sti {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Cascade, ConfidenceIsTheGreatestProbability) {
  const std::vector<float> logits = {1, 3, 2};
  EXPECT_NEAR(Confidence(logits, 1), 1 / (1 + std::exp(-1.0) + std::exp(-2.0)), 1e-12);
  EXPECT_NEAR(Confidence(logits, 2), 1 / (1 + std::exp(-0.5) + std::exp(-1.0)), 1e-12);
  EXPECT_EQ(Confidence(std::vector<float>{5, -1e30F}, 1), 1);
  EXPECT_TRUE(std::isnan(Confidence(std::vector<float>{0, kNan, 1}, 1)));
  EXPECT_TRUE(std::isnan(Confidence(std::vector<float>{kNan, 1}, 1)));
}

TEST(Cascade, AHardCutReturnsWhatIsAbove) {
  const CascadeRule rule{.cutoff = 0.9, .slope = {}};
  EXPECT_EQ(GoOnProbability(0.9, rule), 1);
  EXPECT_EQ(GoOnProbability(0.9000001, rule), 0);
  EXPECT_EQ(GoOnProbability(double{kNan}, rule), 1);
  EXPECT_EQ(GoOnProbability(1, CascadeRule{}), 1);  // c = 1 returns nothing
}

TEST(Cascade, ASlopeLeavesItToChance) {
  const CascadeRule rule{.cutoff = 0.5, .slope = 8};
  EXPECT_EQ(GoOnProbability(0.5, rule), 1);
  EXPECT_NEAR(GoOnProbability(0.75, rule), 0.5, 1e-12);  // v = 0
  EXPECT_NEAR(GoOnProbability(1, rule), 1 / (1 + std::exp(4.0)), 1e-12);
  EXPECT_NEAR(GoOnProbability(0.6, rule), 1 / (1 + std::exp(8 * -0.3)), 1e-9);
}

// Over many inputs the share that goes on is the probability; each has the same fate again, and not
// under each seed.
TEST(Cascade, ChanceIsAHashOfIdsAndSeed) {
  const CascadeRule rule{.cutoff = 0.5, .slope = 6};
  const double probability = GoOnProbability(0.8, rule);
  constexpr uint32_t kInputs = 20000;
  uint32_t on = 0;
  uint32_t otherwise = 0;
  for (uint32_t i = 0; i < kInputs; ++i) {
    const std::vector<uint32_t> ids = {101, i, 102};
    const bool goes = GoesOn(0.8, rule, ids, 7);
    EXPECT_EQ(goes, GoesOn(0.8, rule, ids, 7));
    on += goes ? 1 : 0;
    otherwise += goes != GoesOn(0.8, rule, ids, 8) ? 1 : 0;
  }
  EXPECT_NEAR(on / double{kInputs}, probability, 0.012);
  EXPECT_NEAR(otherwise / double{kInputs}, 2 * probability * (1 - probability), 0.015);
  EXPECT_TRUE(GoesOn(double{kNan}, rule, {}, 0));
}

TEST(Cascade, WordsOfLittleAttentionGo) {
  constexpr uint32_t kNo = kNoWord;
  const std::vector<uint32_t> words = {kNo, 0, 1, 1, 2, kNo};
  const std::vector<float> attention = {3, 0.1F, 0.1F, 1, 0.2F, 1.6F};  // mean 1
  const auto kept = KeptTokens(attention, words, 0.5);
  EXPECT_EQ(kept, (std::vector<bool>{true, false, true, true, false, true}));
  EXPECT_EQ(WordsLeftOut(words, kept), 2U);
  // Not more than α of the mean is too little.
  EXPECT_EQ(KeptTokens(std::vector<float>{1, 1, 1}, std::vector<uint32_t>{kNo, 0, kNo}, 0.99),
            (std::vector<bool>(3, true)));
  EXPECT_EQ(KeptTokens(attention, words, 0), std::vector<bool>(6, true));
  EXPECT_EQ(KeptTokens(attention, {}, 0.5), std::vector<bool>(6, true));
  EXPECT_EQ(KeptTokens(std::vector<float>{3, kNan, 0, 1, 1, 1}, words, 0.5),
            std::vector<bool>(6, true));
}

TEST(Cascade, ASentenceKeepsItsMostAttendedWord) {
  constexpr uint32_t kNo = kNoWord;
  const std::vector<uint32_t> words = {kNo, 0, 1, kNo, 2, 3, 3, kNo};
  const std::vector<float> attention = {9, 0.1F, 0.2F, 9, 0.3F, 0.1F, 0.4F, 9};
  EXPECT_EQ(KeptTokens(attention, words, 0.9),
            (std::vector<bool>{true, false, true, true, false, true, true, true}));
  // An empty sentence has nothing to keep.
  EXPECT_EQ(KeptTokens(std::vector<float>{1, 1}, std::vector<uint32_t>{kNo, kNo}, 0.9),
            std::vector<bool>(2, true));
}

TEST(Cascade, AnEnsembleIsAWeightedMean) {
  const std::vector<float> small = {2, 0, 1};
  const std::vector<float> large = {0, 3, 1};
  std::vector<float> p1(3), p2(3), both(3);
  SoftmaxAt(small, 1.5, p1);
  SoftmaxAt(large, 0.8, p2);
  EXPECT_NEAR(p1[0] + p1[1] + p1[2], 1, 1e-6);
  EXPECT_NEAR(p2[1], Confidence(large, 0.8), 1e-7);
  Ensemble(small, 1.5, large, 0.8, 0.6, both);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(both[i], 0.6F * p2[i] + 0.4F * p1[i], 1e-6);
  Ensemble(small, 1.5, large, 0.8, 1, both);
  EXPECT_EQ(both, p2);
}

TEST(PlanCascade, TheMedianPathIsThatOfTheMiddleInput) {
  PlanCascade cascade;
  EXPECT_EQ(cascade.MedianPathUs(), std::nullopt);
  cascade.levels.resize(2);
  cascade.path_us = {10, 20, 30};
  cascade.return_share = {0.5, 0.25};
  EXPECT_EQ(cascade.MedianPathUs(), 10);
  cascade.return_share = {0.25, 0.25};
  EXPECT_EQ(cascade.MedianPathUs(), 20);
  cascade.return_share = {0, 0.25};
  EXPECT_EQ(cascade.MedianPathUs(), 30);
}

}  // namespace
}  // namespace sti
