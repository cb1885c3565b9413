// Options that are set one after another, with no call between them.
#include <utility>
#include <vector>

#include "sti_fixture.h"

namespace sti {
namespace {

TEST_F(StiTest, AnOptionCountsWhicheverIsSetAfterIt) {
  const std::vector<std::pair<int32_t, int64_t>> others = {{STI_TARGET_US, 1000},
                                                           {STI_PRELOAD_BYTES, 4096},
                                                           {STI_THRESHOLD_PPM, 10},
                                                           {STI_LEAD_TIME_US, 10},
                                                           {STI_TURNS, 2},
                                                           {STI_LATE, STI_LATE_WAIT},
                                                           {STI_CLOCK_KHZ, 1'000'000},
                                                           {STI_GUARANTEE, 1},
                                                           {STI_MEMORY_BYTES, 1 << 27}};
  ASSERT_TRUE(Is(STI_OK, Run("a b c"), error_));
  const std::vector<double> before = ScoresOf(model_);
  ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_COMPUTE, STI_COMPUTE_INT8, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, Run("a b c"), error_));
  const std::vector<double> after = ScoresOf(model_);
  ASSERT_NE(before, after);
  for (const auto& [option, value] : others) {
    for (const bool int8 : {false, true}) {
      const int64_t compute = int8 ? STI_COMPUTE_INT8 : STI_COMPUTE_FP32;
      ASSERT_TRUE(Is(STI_OK, sti_set(model_, STI_COMPUTE, compute, &error_), error_));
      ASSERT_TRUE(Is(STI_OK, sti_set(model_, option, value, &error_), error_));
      ASSERT_TRUE(Is(STI_OK, Run("a b c"), error_));
      EXPECT_EQ(ScoresOf(model_), int8 ? after : before) << option;
    }
  }
}

}  // namespace
}  // namespace sti
