#include "importance/chunk_judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/expect.h"

namespace sti {
namespace {

// The right label's logit is the largest, and its loss a number: still nothing to be counted.
TEST(ChunkJudge, LogitsThatAreNotFiniteAreNoAnswer) {
  ModelInfo info;
  info.shape.labels = 3;
  ExampleBatch chunk;
  chunk.truths = {std::vector<uint32_t>{0}};
  ChunkJudge judge(Metric::kAccuracy, info, "a.sti");
  judge.Begin(chunk);
  const auto sound = judge.Of(0, std::vector<float>{2, 1, -3e38F});
  ASSERT_TRUE(Succeeded(sound));
  EXPECT_TRUE(sound->right);
  for (const float odd : {NAN, INFINITY, -INFINITY}) {
    EXPECT_TRUE(FailedWith(judge.Of(0, std::vector<float>{2, 1, odd}), ErrorKind::kDamaged,
                           "a.sti: an example's loss is not a number"))
        << odd;
  }
}

}  // namespace
}  // namespace sti
