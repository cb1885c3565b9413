#include "api/plan_inputs.h"

#include <gtest/gtest.h>

#include "support/expect.h"
#include "support/forged_container.h"

namespace sti {
namespace {

TEST(PlanInputs, OpeningReadsIndexVocabularyAndTheEmbeddingsParameters) {
  ForgedContainer forged;
  auto file = forged.Open();
  ASSERT_TRUE(Succeeded(file));
  const ColdBytes bytes = ColdBytesOf(*file);
  EXPECT_GT(bytes.index, 0U);
  EXPECT_GT(bytes.embedding, 0U);
  DeviceProfile profile;
  profile.compute = {{16, 1, 10, 10}};
  profile.io = {{1000, 0, 10, 10}, {2000, 0, 20, 20}};  // 100 bytes a microsecond
  const auto load_us = OpeningLoadUs(bytes, profile);
  ASSERT_TRUE(Succeeded(load_us));
  const auto all = static_cast<double>(bytes.index + bytes.vocabulary + bytes.embedding);
  EXPECT_NEAR(*load_us, all / 100, 1e-6);
  profile.io = {{0, 2, 10, 10}};
  EXPECT_EQ(*OpeningLoadUs(bytes, profile), 0) << "by bits, nothing is known of other reads";
}

}  // namespace
}  // namespace sti
