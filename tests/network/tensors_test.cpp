#include "network/tensors.h"

#include <gtest/gtest.h>

#include <vector>

namespace sti {
namespace {

using enum TensorRole;

/// A model of 2 heads of which no two sizes are equal.
ModelShape Shape() {
  return {.layers = 3,
          .width = 2,
          .hidden = 4,
          .ffn = 6,
          .vocabulary = 11,
          .max_positions = 7,
          .token_types = 5,
          .labels = 3};
}

std::vector<uint64_t> CountsAt(Home home) {
  std::vector<uint64_t> counts;
  for (const TensorSpec& tensor : TensorsAt(home)) {
    counts.push_back(SizeOf(tensor, Shape()).count());
  }
  return counts;
}

// The counts and their order are those of spec/container.md.
TEST(Tensors, EachHomeHasItsOwnInStoredOrder) {
  using Counts = std::vector<uint64_t>;
  EXPECT_EQ(CountsAt(Home::kShard), (Counts{16, 16, 16, 16, 24, 24}));
  EXPECT_EQ(CountsAt(Home::kLayer), (Counts{4, 4, 4, 4, 4, 4, 6, 4, 4, 4}));
  EXPECT_EQ(CountsAt(Home::kEmbedding), (Counts{20, 4, 4, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(TensorsAt(Home::kEmbedding, Shape()).size(), 3U);
  EXPECT_EQ(CountsAt(Home::kHead), (Counts{0, 0, 16, 4, 12, 3}));
  EXPECT_EQ(CountsAt(Home::kRows), (Counts{44, 28}));
  EXPECT_EQ(ValuesAt(Home::kLayer, Shape()), 42U);
  EXPECT_EQ(kTensors.size(), 33U);
}

// A model of images has neither words nor types: it projects patches, and needs all positions.
TEST(Tensors, ImagesAreProjectedByPatches) {
  const ModelShape shape = {.layers = 1,
                            .width = 2,
                            .hidden = 4,
                            .ffn = 6,
                            .max_positions = 5,
                            .labels = 3,
                            .has_pooler = false,
                            .norm_before = true,
                            .image = ImageShape{.size = 6, .patch = 3, .channels = 2}};
  const auto shapes_at = [&](Home home) {
    std::vector<std::vector<uint64_t>> shapes;
    for (const TensorSpec& tensor : TensorsAt(home, shape))
      shapes.push_back(ShapeOf(tensor, shape));
    return shapes;
  };
  using Shapes = std::vector<std::vector<uint64_t>>;
  EXPECT_EQ(shapes_at(Home::kEmbedding), (Shapes{{4, 2, 3, 3}, {4}, {1, 1, 4}, {1, 5, 4}}));
  EXPECT_EQ(shapes_at(Home::kHead), (Shapes{{4}, {4}, {3, 4}, {3}}));
  EXPECT_TRUE(TensorsAt(Home::kRows, shape).empty());
  EXPECT_EQ(TensorsAt(Home::kLayer, shape).size(), CountAt(Home::kLayer));
  EXPECT_EQ(shape.image->patches(), 4U);
  EXPECT_EQ(shape.image->values(), 72U);
}

// Rows and their norm have the width E, which a matrix [d, E] projects.
TEST(Tensors, EmbeddingsOfAnotherWidthAreProjected) {
  ModelShape shape = Shape();
  EXPECT_EQ(shape.embedding_width(), 4U);
  EXPECT_FALSE(HasTensor(SpecOf(kProjectionWeight), shape));
  EXPECT_EQ(ValuesAt(Home::kEmbedding, shape), 28U);
  shape.embedding = 3;
  const auto count = [&](TensorRole role) { return SizeOf(SpecOf(role), shape).count(); };
  EXPECT_TRUE(HasTensor(SpecOf(kProjectionWeight), shape));
  EXPECT_EQ(TensorsAt(Home::kEmbedding, shape).size(), 5U);
  EXPECT_EQ(count(kTypeEmbeddings), 15U);
  EXPECT_EQ(count(kEmbeddingNormWeight), 3U);
  EXPECT_EQ(count(kProjectionBias), 4U);
  EXPECT_EQ(ShapeOf(SpecOf(kProjectionWeight), shape), (std::vector<uint64_t>{4, 3}));
  EXPECT_EQ(ShapeOf(SpecOf(kWordEmbeddings), shape), (std::vector<uint64_t>{11, 3}));
  EXPECT_EQ(ValuesAt(Home::kEmbedding, shape), 37U);
  EXPECT_EQ(ValuesAt(Home::kLayer, shape), ValuesAt(Home::kLayer, Shape()));
}

TEST(Tensors, PublishedShapesHaveOutputsFirst) {
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(ShapeOf(SpecOf(kFfn1Weight), Shape()), (Sizes{6, 4}));
  EXPECT_EQ(ShapeOf(SpecOf(kFfn2Weight), Shape()), (Sizes{4, 6}));
  EXPECT_EQ(ShapeOf(SpecOf(kFfn1Bias), Shape()), (Sizes{6}));
  EXPECT_EQ(ShapeOf(SpecOf(kClassifierWeight), Shape()), (Sizes{3, 4}));
  EXPECT_EQ(ShapeOf(SpecOf(kPositionEmbeddings), Shape()), (Sizes{7, 4}));
  ModelShape one = Shape();
  one.labels = 1;
  EXPECT_EQ(ShapeOf(SpecOf(kClassifierWeight), one), (Sizes{1, 4})) << "a matrix all the same";
}

// STI Table 1: Q, K, V and FFN1 are cut by outputs, O and FFN2 by inputs.
TEST(Tensors, ASliceHasItsShareOfEachMatrix) {
  const auto in_slice = [](TensorRole role) {
    const TensorSize size = SizeInSlice(SpecOf(role), Shape());
    return std::vector<uint64_t>{size.rows, size.columns};
  };
  using Sizes = std::vector<uint64_t>;
  for (const TensorRole role : {kQueryWeight, kKeyWeight, kValueWeight}) {
    EXPECT_EQ(in_slice(role), (Sizes{2, 4}));
  }
  EXPECT_EQ(in_slice(kOutputWeight), (Sizes{4, 2}));
  EXPECT_EQ(in_slice(kFfn1Weight), (Sizes{3, 4}));
  EXPECT_EQ(in_slice(kFfn2Weight), (Sizes{4, 3}));
  EXPECT_EQ(in_slice(kFfn1Bias), (Sizes{3, 1}));
  EXPECT_EQ(in_slice(kKeyBias), (Sizes{2, 1}));
  EXPECT_EQ(in_slice(kFfn2Bias), (Sizes{4, 1})) << "added once, whatever the width";
  EXPECT_EQ(ShardWeights(Shape()), 56U);
  EXPECT_EQ(LayerWeights(Shape()), 112U);
}

TEST(Tensors, ValuesByRoleAreTheRolesOwn) {
  ByRole<Home::kLayer, uint64_t> counts;
  EXPECT_EQ(counts.size(), 10U);
  for (const TensorSpec& tensor : TensorsAt(Home::kLayer)) {
    counts[tensor.role] = SizeOf(tensor, Shape()).count();
  }
  EXPECT_EQ(counts[kFfn1Bias], 6U);
  EXPECT_EQ(std::vector<uint64_t>(counts.begin(), counts.end()), CountsAt(Home::kLayer));
}

}  // namespace
}  // namespace sti
