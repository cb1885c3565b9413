// Heads beside that of a classifier of texts: how the rows of a sequence become its vector, and
// tokens get labels.
#include "model/head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/thread_pool.h"
#include "network/tensors.h"

namespace sti {
namespace {

constexpr uint32_t kD = 2;

/// Returns the vectors of two sequences, of two tokens and of one.
std::vector<float> Embedded(const HeadTraits& traits, const std::vector<float>& rows) {
  const std::vector<uint32_t> offsets{0, 2, 3};
  std::vector<float> vectors(2 * kD);
  EmbedSequences(traits, {offsets}, rows.data(), kD, vectors.data());
  return vectors;
}

TEST(EmbedSequences, PoolsTheRowsOfEachSequenceAlone) {
  const std::vector<float> all{1, -2, 3, -6, 7, 8};
  using enum Pooling;
  EXPECT_EQ(Embedded({HeadOutput::kEmbedding, kMean}, all), (std::vector<float>{2, -4, 7, 8}));
  EXPECT_EQ(Embedded({HeadOutput::kEmbedding, kMaximum}, all), (std::vector<float>{3, -2, 7, 8}));
  const std::vector<float> firsts{1, -2, 7, 8};  // of each sequence, which are the rows it wants
  EXPECT_EQ(Embedded({HeadOutput::kEmbedding, kFirst}, firsts), firsts);
}

TEST(EmbedSequences, MakesVectorsOfUnitLength) {
  const auto vectors = Embedded({HeadOutput::kEmbedding, Pooling::kFirst, true}, {3, -4, 0, 0});
  EXPECT_EQ(vectors, (std::vector<float>{0.6F, -0.8F, 0, 0})) << "zeros have no length";
}

TEST(EmbedSequences, KeepsWhatIsNoNumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Pooling pooling : {Pooling::kMean, Pooling::kMaximum}) {
    for (const std::vector<float>& rows :
         {std::vector<float>{nan, 0, 1, 0, 1, 1}, std::vector<float>{1, 0, nan, 0, 1, 1}}) {
      const auto vectors = Embedded({HeadOutput::kEmbedding, pooling, true}, rows);
      EXPECT_TRUE(std::isnan(vectors[0]));
      EXPECT_FALSE(std::isnan(vectors[2]));
    }
  }
}

TEST(ClassifyTokens, GivesEachTokenLogitsOfItsOwn) {
  ModelShape shape;
  shape.hidden = kD;
  shape.labels = 3;
  HeadParameters parameters;
  parameters[TensorRole::kClassifierWeight] = {1, 0, 0, 1, 2, -1};
  parameters[TensorRole::kClassifierBias] = {0.5F, 0, -1};
  const std::vector<float> hidden{1, 2, -3, 4};
  std::vector<float> logits(6);
  ThreadPool pool(2);
  ClassifyTokens(shape, parameters, 2, hidden.data(), pool, logits.data());
  EXPECT_EQ(logits, (std::vector<float>{1.5F, 2, -1, -2.5F, 4, -11}));
}

TEST(HeadTraits, WantAllRowsWhereTheyArePooled) {
  EXPECT_EQ(HeadTraits().rows(), OutputRows::kFirst);
  EXPECT_EQ((HeadTraits{HeadOutput::kEmbedding, Pooling::kMean}).rows(), OutputRows::kAll);
  EXPECT_EQ((HeadTraits{HeadOutput::kEmbedding, Pooling::kMaximum}).rows(), OutputRows::kAll);
  EXPECT_EQ((HeadTraits{HeadOutput::kEmbedding, Pooling::kFirst}).rows(), OutputRows::kFirst);
  EXPECT_EQ(HeadTraits::OfTokenLabels().rows(), OutputRows::kAll);
}

}  // namespace
}  // namespace sti
