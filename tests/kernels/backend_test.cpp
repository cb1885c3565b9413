#include "kernels/backend.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

TEST(Backend, LimitsTheInstructionSet) {
  const auto sets = InstructionSets();
  ASSERT_FALSE(sets.empty());
  const std::string best = KernelFor({Backend::kNative}).name;
  EXPECT_EQ(best, "native-" + sets.front() + "-fp32");
  for (const std::string& name : sets) {
    ASSERT_TRUE(LimitInstructionSet(name));
    EXPECT_EQ(KernelFor({Backend::kNative}).name, "native-" + name + "-fp32");
  }
  EXPECT_FALSE(LimitInstructionSet("mmx"));
  EXPECT_TRUE(LimitInstructionSet(""));
  EXPECT_EQ(KernelFor({Backend::kNative}).name, best);
  EXPECT_EQ(KernelFor({Backend::kOpenBlas}).name, "openblas-fp32");
}

}  // namespace
}  // namespace sti
