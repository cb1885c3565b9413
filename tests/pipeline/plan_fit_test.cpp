#include <gtest/gtest.h>

#include "base/remedy.h"
#include "pipeline/pipeline.h"
#include "support/expect.h"

namespace sti {
namespace {

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
