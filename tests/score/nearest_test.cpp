#include "score/nearest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect.h"
#include "types/score.h"

namespace sti {
namespace {

/// Returns vectors of these labels, without numbers.
LabelVectors Named(std::vector<std::string> labels) {
  LabelVectors vectors;
  vectors.labels = std::move(labels);
  return vectors;
}

TEST(Nearest, AVectorIsTheMeanOfDirectionsAndOfUnitLength) {
  LabelMeans means(2, 2);
  // Ten times as long counts no more.
  means.Add(0, std::vector<float>{10, 0});
  means.Add(0, std::vector<float>{0, 1});
  means.Add(1, std::vector<float>{0, -3});
  LabelVectors vectors = Named({"a", "b"});
  ASSERT_TRUE(Succeeded(means.Finish(&vectors)));
  EXPECT_EQ(vectors.examples, (std::vector<uint32_t>{2, 1}));
  EXPECT_EQ(vectors.dimensions, 2U);
  const auto half = static_cast<float>(std::sqrt(0.5));
  EXPECT_EQ(vectors.vectors, (std::vector<float>{half, half, 0, -1}));
}

TEST(Nearest, LogitsAreCosinesWhateverTheLengthOfTheText) {
  LabelVectors vectors = Named({"a", "b", "c"});
  vectors.dimensions = 2;
  vectors.vectors = {1, 0, 0, 1, -0.6F, 0.8F};
  std::vector<float> logits;
  for (const float length : {1e-3F, 1.0F, 1e3F}) {
    NearestLogits(vectors, std::vector<float>{0.6F * length, 0.8F * length}, &logits);
    ASSERT_EQ(logits.size(), 3U);
    EXPECT_NEAR(logits[0], kLogitsPerCosine * 0.6, 1e-5);
    EXPECT_NEAR(logits[1], kLogitsPerCosine * 0.8, 1e-5);
    EXPECT_NEAR(logits[2], kLogitsPerCosine * 0.28, 1e-5);
  }
}

TEST(Nearest, EqualVectorsHaveEqualLogits) {
  LabelMeans means(2, 3);
  for (const uint32_t label : {0U, 1U}) means.Add(label, std::vector<float>{1, 2, 3});
  LabelVectors vectors = Named({"a", "b"});
  ASSERT_TRUE(Succeeded(means.Finish(&vectors)));
  std::vector<float> logits;
  NearestLogits(vectors, std::vector<float>{3, 1, 2}, &logits);
  EXPECT_EQ(logits[0], logits[1]);
}

TEST(Nearest, ALabelWithoutADirectionIsNamed) {
  LabelMeans means(2, 2);
  means.Add(0, std::vector<float>{1, 0});
  LabelVectors vectors = Named({"a", "b"});
  EXPECT_TRUE(FailedWith(means.Finish(&vectors), ErrorKind::kDamaged, "label b has no examples"));
  means.Add(1, std::vector<float>{0, 2});
  means.Add(1, std::vector<float>{0, -5});
  EXPECT_TRUE(FailedWith(means.Finish(&vectors), ErrorKind::kDamaged,
                         "the embeddings of label b cancel out"));
  means.Add(1, std::vector<float>{0, NAN});
  EXPECT_TRUE(FailedWith(means.Finish(&vectors), ErrorKind::kDamaged, "label b"));
}

TEST(Nearest, ALengthIsExactWhereSquaresOfFloatsAreNot) {
  EXPECT_EQ(LengthOf(std::vector<float>{3e-30F, 4e-30F}),
            std::hypot(double{3e-30F}, double{4e-30F}));
  EXPECT_EQ(LengthOf(std::vector<float>{0, 0, 0}), 0);
}

}  // namespace
}  // namespace sti
