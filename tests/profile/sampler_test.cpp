#include "profile/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect.h"

namespace sti {
namespace {

// Things whose times are made up, on a clock that only they move.
class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() {
    options_.now_us = [this] { return now_us_; };
    options_.budget_us = 20e6;
  }

  void Add(const std::string& name, std::function<double()> time_us, uint32_t kind = 0) {
    const size_t at = numbers_.size();
    numbers_.push_back({name, kind, [this, at] { visits_.push_back(at); },
                        [this, time_us, at]() -> Result<double> {
                          const double us = time_us();
                          now_us_ += us;
                          order_.push_back(at);
                          return us;
                        }});
  }

  double now_us_ = 0;
  std::vector<TimedQuantity> numbers_;
  std::vector<size_t> visits_;
  std::vector<size_t> order_;
  SamplingOptions options_;
};

TEST_F(SamplerTest, StopsWhenMediansAreKnown) {
  Add("quick", [] { return 100.0; });
  Add("slow", [] { return 50e3; });
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_EQ((*measured)[0].median_us, 100);
  EXPECT_GE((*measured)[0].samples, 200U);
  EXPECT_EQ((*measured)[1].median_us, 50e3);
  EXPECT_GE((*measured)[1].samples, 10U);
  EXPECT_EQ((*measured)[1].half_width, 0);
  EXPECT_EQ((*measured)[1].drift, 0);
  EXPECT_LT(now_us_, options_.budget_us / 2);
}

TEST_F(SamplerTest, GoesAroundRatherThanInBursts) {
  Add("a", [] { return 100.0; });
  Add("b", [] { return 100.0; });
  ASSERT_TRUE(Succeeded(MeasureAll(numbers_, options_)));
  EXPECT_GT(visits_.size(), 16U);
  // In half of the time half of the samples of each were taken.
  const auto half = order_.begin() + static_cast<std::ptrdiff_t>(order_.size() / 2);
  const auto early = std::count(order_.begin(), half, 0U);
  EXPECT_NEAR(static_cast<double>(early), static_cast<double>(order_.size()) / 4,
              static_cast<double>(order_.size()) / 16);
}

TEST_F(SamplerTest, ASlowPhaseTouchesAllAlike) {
  auto time = [this] { return now_us_ > 60e3 && now_us_ < 90e3 ? 300.0 : 100.0; };
  for (const char* name : {"a", "b", "c"}) Add(name, time);
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  for (const Timing& number : *measured) EXPECT_EQ(number.median_us, 100);
}

TEST_F(SamplerTest, NoiseUsesUpTheBudgetAndIsSaid) {
  uint32_t state = 1;
  Add("noise", [&state] {
    state = state * 1664525U + 1013904223U;
    return 1000.0 + (state >> 12) % 100000;
  });
  options_.precision = 1e-4;
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_GE(now_us_, options_.budget_us);
  EXPECT_LT(now_us_, 1.2 * options_.budget_us);
  EXPECT_GT((*measured)[0].half_width, options_.precision);
}

TEST_F(SamplerTest, SevenSamplesWhateverTheBudget) {
  Add("slow", [] { return 1e6; });
  options_.budget_us = 1;
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_EQ((*measured)[0].samples, 7U);
}

TEST_F(SamplerTest, WarmsUpUntilBatchesAgree) {
  int calls = 0;
  Add("cold", [&calls] { return ++calls <= 6 ? 1000.0 / calls : 100.0; });
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_EQ((*measured)[0].p99_us, 100);
}

TEST_F(SamplerTest, DriftIsSaid) {
  Add("drifting", [this] { return now_us_ < 8e6 ? 30e3 : 40e3; });
  Add("steady", [] { return 200.0; });
  options_.precision = 1e-4;
  options_.budget_us = 16e6;
  uint32_t state = 1;
  Add("noise", [&state] {  // uses up the budget
    state = state * 1664525U + 1013904223U;
    return 1000.0 + (state >> 12) % 50000;
  });
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_NEAR((*measured)[0].drift, 1.0 / 3, 1e-6);
  EXPECT_EQ((*measured)[1].drift, 0);
}

TEST_F(SamplerTest, AP99OfFewSamplesIsNotBelowTheirMaximumNorTheTailOfTheirKind) {
  int few = 0;
  int many = 0;
  int alone = 0;
  Add("few", [&few] { return ++few == 12 ? 60e3 : 50e3; });
  Add("many", [&many] { return ++many % 10 == 0 ? 300.0 : 100.0; });
  Add(
      "alone", [&alone] { return ++alone == 12 ? 60e3 : 50e3; }, 7);
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  ASSERT_LT((*measured)[0].samples, 200U);
  EXPECT_EQ((*measured)[1].p99_us, 300);
  EXPECT_EQ((*measured)[0].p99_us, 150e3);
  EXPECT_EQ((*measured)[2].p99_us, 60e3);
}

TEST_F(SamplerTest, ATinyTimeIsNotCalledNoisy) {
  int calls = 0;
  Add("tiny", [&calls] { return ++calls % 2 == 0 ? 0.2 : 0.3; });
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_LE((*measured)[0].half_width, 0.01);
}

TEST_F(SamplerTest, WithAGapEverySampleIsAVisit) {
  Add("a", [] { return 100.0; });
  Add("b", [] { return 100.0; });
  options_.gap_us = 1;
  const auto measured = MeasureAll(numbers_, options_);
  ASSERT_TRUE(Succeeded(measured));
  EXPECT_EQ((*measured)[0].samples, 15U);
  EXPECT_EQ(visits_.size(), order_.size());
}

TEST_F(SamplerTest, ProgressEndsAtAllAndNeverGoesBack) {
  Add("a", [] { return 100.0; });
  Add("b", [] { return 20e3; });
  Add("c", [] { return 10.0; });
  uint64_t last = 0;
  options_.progress = [&last](uint64_t done, uint64_t total) {
    EXPECT_EQ(total, 3U);
    EXPECT_GE(done, last);
    last = done;
  };
  size_t rounds = 0;
  options_.each_round = [&rounds] { ++rounds; };
  ASSERT_TRUE(Succeeded(MeasureAll(numbers_, options_)));
  EXPECT_EQ(last, 3U);
  EXPECT_GE(rounds, 8U);
}

TEST_F(SamplerTest, ErrorsAndCancellingEndIt) {
  Add("a", [] { return 100.0; });
  options_.cancelled = [this] { return order_.size() == 20; };
  EXPECT_TRUE(FailedWith(MeasureAll(numbers_, options_), ErrorKind::kCancelled, "interrupted"));
  options_.cancelled = nullptr;
  numbers_[0].once = []() -> Result<double> { return MachineError("the disk is gone"); };
  EXPECT_TRUE(FailedWith(MeasureAll(numbers_, options_), ErrorKind::kMachine, "disk is gone"));
  const auto none = MeasureAll({}, options_);
  ASSERT_TRUE(Succeeded(none));
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace sti
