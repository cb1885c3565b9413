#include "kernels/backend.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(Backend, LimitsTheInstructionSet) {
  const auto sets = InstructionSets();
  ASSERT_FALSE(sets.empty());
  const std::string best = KernelName({Backend::kNative});
  EXPECT_EQ(best, "native-" + sets.front() + "-fp32");
  for (const std::string& name : sets) {
    ASSERT_TRUE(LimitInstructionSet(name));
    EXPECT_EQ(KernelName({Backend::kNative}), "native-" + name + "-fp32");
  }
  EXPECT_FALSE(LimitInstructionSet("mmx"));
  EXPECT_TRUE(LimitInstructionSet(""));
  EXPECT_EQ(KernelName({Backend::kNative}), best);
  EXPECT_EQ(KernelName({Backend::kOpenBlas}), "openblas-fp32");
}

}  // namespace
}  // namespace sti
