#include "shard/weight_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/decode.h"

namespace sti {
namespace {

ModelShape ShapeOf(uint32_t width, uint32_t hidden, uint32_t ffn) {
  ModelShape shape;
  shape.layers = 1;
  shape.width = width;
  shape.hidden = hidden;
  shape.ffn = ffn;
  return shape;
}

void ExpectPermutation(const ModelShape& shape) {
  std::vector<uint32_t> all;
  for (uint32_t slice = 0; slice < shape.width; ++slice) {
    const auto order = WeightOrder(shape, slice);
    EXPECT_EQ(order.size(), ShardWeights(shape));
    all.insert(all.end(), order.begin(), order.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), LayerWeights(shape));
  for (uint32_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
}

TEST(WeightOrder, SlicesPartTheLayerWithoutRestOrOverlap) {
  ExpectPermutation(ShapeOf(1, 4, 8));
  ExpectPermutation(ShapeOf(2, 32, 64));
  ExpectPermutation(ShapeOf(2, 52, 100));
  ExpectPermutation(ShapeOf(12, 192, 768));
  ExpectPermutation(ShapeOf(3, 51, 33));
}

TEST(WeightOrder, LayerWeightsCountsSixMatrices) {
  EXPECT_EQ(LayerWeights(ShapeOf(12, 768, 3072)), 7077888U);
}

// Hidden 2, one neuron a slice, two slices: small enough to write down.
TEST(WeightOrder, MatchesAListMadeByHand) {
  const ModelShape shape = ShapeOf(2, 2, 2);
  // Q 0..3, K 4..7, V 8..11, O 12..15, FFN1 16..19, FFN2 20..23, each [2, 2] row-major. A slice has
  // row s of Q, K, V and FFN1, and column s of O and FFN2; a panel goes input by input.
  EXPECT_EQ(WeightOrder(shape, 0),
            (std::vector<uint32_t>{0, 1, 4, 5, 8, 9, 12, 14, 16, 17, 20, 22}));
  EXPECT_EQ(WeightOrder(shape, 1),
            (std::vector<uint32_t>{2, 3, 6, 7, 10, 11, 13, 15, 18, 19, 21, 23}));
}

// Head size 26 is a panel of 16 and one of 10; FFN slices of 50 end with a panel of 2.
TEST(WeightOrder, FollowsTheDefinitionOnRaggedPanels) {
  const ModelShape shape = ShapeOf(2, 52, 100);
  const uint64_t d = 52;
  const uint64_t f = 100;
  const uint64_t first[] = {0, d * d, 2 * d * d, 3 * d * d, 4 * d * d, 4 * d * d + f * d};
  for (uint32_t slice = 0; slice < 2; ++slice) {
    const auto order = WeightOrder(shape, slice);
    const auto matrices = ShardMatrices(shape);
    uint32_t m = 0;
    for (const ShardMatrix& local : matrices) {
      const bool by_column = m == 3 || m == 5;  // O and FFN2
      const uint64_t row_length = m == 5 ? f : d;
      for (uint32_t out = 0; out < local.outs; ++out) {
        const uint32_t panel = out / 16 * 16;
        const uint32_t panel_width = std::min(16U, local.outs - panel);
        for (uint32_t in = 0; in < local.ins; ++in) {
          const uint64_t row = by_column ? out : slice * local.outs + out;
          const uint64_t column = by_column ? slice * local.ins + in : in;
          const uint64_t at = local.first + uint64_t{panel} * local.ins +
                              uint64_t{in} * panel_width + (out - panel);
          ASSERT_EQ(order[at], first[m] + row * row_length + column)
              << "matrix " << m << " out " << out << " in " << in;
        }
      }
      ++m;
    }
  }
}

}  // namespace
}  // namespace sti
