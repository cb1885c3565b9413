#include "pipeline/routes.h"

#include <gtest/gtest.h>

#include "base/remedy.h"
#include "pipeline/pipeline.h"
#include "support/expect.h"

namespace sti {
namespace {

Plan For(uint32_t length, uint64_t freq) {
  Plan plan;
  plan.length = length;
  if (freq != 0) plan.freq = freq;
  return plan;
}

using Chosen = std::vector<std::pair<uint32_t, uint64_t>>;

Chosen At(const Plan& plan, uint64_t clock_khz) {
  Chosen chosen;
  for (const RouteId id : RoutesAtClock(plan, clock_khz))
    chosen.emplace_back(PlanOf(plan, id).length, PlanOf(plan, id).freq.value_or(0));
  return chosen;
}

TEST(PlanChoice, OneOfEachLengthShortestFirst) {
  Plan plan = For(64, 0);
  EXPECT_EQ(At(plan, 0), (Chosen{{64, 0}}));
  plan.variants = {For(128, 0), For(16, 0), For(32, 0)};
  EXPECT_EQ(At(plan, 0), (Chosen{{16, 0}, {32, 0}, {64, 0}, {128, 0}}));
  EXPECT_EQ(At(plan, 5), At(plan, 0));
  const auto routes = RoutesAtClock(plan, 0);
  EXPECT_EQ(routes[2], RouteId{0}) << "the plan itself";
  EXPECT_EQ(routes[0], RouteId{2}) << "its second variant";
}

TEST(PlanChoice, TheFastestThatTheClockKeepsUpWith) {
  Plan plan = For(64, 1800);
  plan.variants = {For(64, 600), For(64, 2400), For(16, 1800), For(16, 2400)};
  EXPECT_EQ(At(plan, 2400), (Chosen{{16, 2400}, {64, 2400}}));
  EXPECT_EQ(At(plan, 2399), (Chosen{{16, 1800}, {64, 1800}}));
  EXPECT_EQ(At(plan, 1800), (Chosen{{16, 1800}, {64, 1800}}));
  EXPECT_EQ(At(plan, 1799), (Chosen{{16, 1800}, {64, 600}})) << "none of 16 keeps up: the lowest";
  EXPECT_EQ(At(plan, 1), (Chosen{{16, 1800}, {64, 600}}));
  EXPECT_EQ(At(plan, 9999), (Chosen{{16, 2400}, {64, 2400}}));
  EXPECT_EQ(At(plan, 0), (Chosen{{16, 2400}, {64, 2400}})) << "not known: the highest";
}

TEST(PlanChoice, OfEqualOnesTheFirst) {
  Plan plan = For(64, 1800);
  plan.variants = {For(64, 1800), For(16, 900), For(16, 900)};
  for (const uint64_t clock : {100, 1800}) {
    const auto routes = RoutesAtClock(plan, clock);
    ASSERT_EQ(routes.size(), 2U);
    EXPECT_EQ(routes[0], RouteId{2});
    EXPECT_EQ(routes[1], RouteId{0});
  }
}

TEST(PlanChoice, APlanThatSaysNoClockFitsAnyButYieldsToOneThatDoes) {
  Plan plan = For(64, 0);
  plan.variants = {For(64, 1800)};
  EXPECT_EQ(At(plan, 1000), (Chosen{{64, 0}}));
  EXPECT_EQ(At(plan, 1800), (Chosen{{64, 1800}}));
}

TEST(PlanFit, APlanRunsOnTheProductsThatItCountsOn) {
  Plan plan;
  plan.kernel = ParseKernel("native-avx512-bf16");
  EXPECT_TRUE(Succeeded(CheckPlanComputes(plan, ComputeType::kBf16)));
  const Status other = CheckPlanComputes(plan, ComputeType::kFp32);
  EXPECT_TRUE(FailedWith(other, ErrorKind::kUsage, "the plan counts on bf16 products, not fp32",
                         Remedy::kComputeAsPlanned));
  EXPECT_EQ(other.error().value, "bf16");
}

TEST(PlanFit, APlanThatNamesNoProductsRunsOnAny) {
  Plan plan;
  plan.kernel = ParseKernel("abacus");
  EXPECT_TRUE(Succeeded(CheckPlanComputes(plan, ComputeType::kFp32)));
  EXPECT_TRUE(Succeeded(CheckPlanComputes(plan, ComputeType::kBf16)));
}

}  // namespace

}  // namespace sti
