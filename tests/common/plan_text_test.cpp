#include "common/plan_text.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "types/plan.h"

namespace sti {
namespace {

Plan SmallPlan() {
  Plan plan;
  plan.layers = {0};
  plan.width = 1;
  plan.length = 1;
  plan.bits = Grid<uint32_t>(1, 1, 2);
  plan.slices = Grid<uint32_t>(1, 1, 0);
  plan.cpus = "0";
  plan.threads = 1;
  plan.words = {7};
  plan.predicted_latency_us = 9000;
  plan.predicted_p99_us = 9500;
  return plan;
}

TEST(PlanText, OneOfAThingIsSpelledAsOne) {
  const std::string text = DescribePlan(SmallPlan());
  for (const char* words : {"1 layer x 1 slice, up to 1 token,", "cores      0, 1 thread\n",
                            "rows       of 1 frequent word preloaded\n"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << " in\n" << text;
  }
}

TEST(PlanText, AFallbackCostsOrSavesWithinEightyColumns) {
  Plan plan = SmallPlan();
  plan.fallback = Fallback{};
  plan.fallback->layers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  plan.fallback->width = 12;
  plan.fallback->bits = 32;
  plan.fallback->bytes = uint64_t{123} << 20;
  plan.fallback->cost_bits = 12345;
  EXPECT_NE(DescribePlan(plan).find(" costs 12345 bits over all shards\n"), std::string::npos);
  plan.fallback->cost_bits = -56;
  const std::string text = DescribePlan(plan);
  EXPECT_NE(text.find(" saves 56 bits over all shards\n"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST(PlanText, AVerdictSaysWhichTimeItIsAbout) {
  Plan plan = SmallPlan();
  plan.target_us = 10000;
  EXPECT_NE(DescribePlan(plan).find("target 10.00 ms met\n"), std::string::npos);
  plan.target_us = 9200;
  EXPECT_NE(DescribePlan(plan).find("target 9.20 ms met by the median\n"), std::string::npos);
  plan.meets_target = false;
  EXPECT_NE(DescribePlan(plan, {.noise = 0.5}).find("target 9.20 ms MISSED\n"), std::string::npos);
}

TEST(PlanText, ATargetThatNoiseLeavesOpenIsUncertain) {
  Plan plan = SmallPlan();
  plan.target_us = 10000;
  EXPECT_FALSE(IsUncertain(plan, 0));
  EXPECT_FALSE(IsUncertain(plan, 0.05));  // as well as a quiet machine is known
  EXPECT_TRUE(IsUncertain(plan, 0.06));
  EXPECT_NE(DescribePlan(plan, {.noise = 0.06}).find("target 10.00 ms met, uncertain\n"),
            std::string::npos);
  plan.target_us = 12000;
  EXPECT_FALSE(IsUncertain(plan, 0.06));
  plan.target_us.reset();
  EXPECT_FALSE(IsUncertain(plan, 0.5));
}

}  // namespace
}  // namespace sti
