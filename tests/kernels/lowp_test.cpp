#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/half.h"
#include "kernels/backend.h"
#include "kernels/cpu/linear_parts.h"
#include "kernels/fp32/outliers.h"
#include "kernels/linear.h"
#include "kernels/lowp/panels.h"
#include "kernels/shard_encoder.h"
#include "support/random.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr float kSpread = 0.04f;

struct Shape {
  uint32_t outs;
  uint32_t ins;
  uint32_t rows;
  bool scaled_by_output;
};

/// One matrix of a shard with scales, and inputs.
struct World {
  World(const Shape& s, uint32_t bits, float largest_outlier, uint32_t seed)
      : shape(s), matrix{s.outs, s.ins, 0, 0, s.scaled_by_output} {
    TestRandom random(seed);
    // Outliers that a code reaches, and some that none does.
    shard = testing::MakeShard(uint64_t{s.outs} * s.ins, bits, DataType::kF16, 0.02, kSpread, seed,
                               largest_outlier);
    if (bits != kFullBits) {
      shard.scales = random.Normals(s.scaled_by_output ? s.outs : s.ins, 0.2, 1);
      shard.view.scales = shard.scales.data();
    }
    outliers.resize(uint64_t{s.outs} * s.ins);
    ForEachOutlier(shard.view, 0, outliers.size(),
                   [&](uint64_t at, float) { outliers[at] = true; });
    inputs = random.Normals(size_t{s.rows} * s.ins, 1);
    bias = random.Normals(s.outs, 1);
  }

  /// The weight as it counts: centroids are scaled, outliers and full weights are not.
  [[nodiscard]] float Weight(uint32_t out, uint32_t in) const {
    const float weight = testing::WeightAt(shard, matrix, out, in);
    if (shard.scales.empty()) return weight;
    const uint32_t panel = out / kPanelWidth * kPanelWidth;
    const uint32_t width = std::min(kPanelWidth, shape.outs - panel);
    const uint64_t at = uint64_t{panel} * shape.ins + uint64_t{in} * width + out - panel;
    return outliers[at] ? weight : weight * shard.scales[shape.scaled_by_output ? out : in];
  }
  [[nodiscard]] float Input(uint32_t row, uint32_t in) const {
    return inputs[size_t{row} * shape.ins + in];
  }

  std::vector<float> Run(ComputeType type, uint32_t threads, bool apart = false) {
    ThreadPool pool(threads);
    auto linear = MakePackedLinear(type, pool, Activation::kRelu);
    linear->Reserve({.rows = shape.rows,
                     .matrix_weights = shape.outs * shape.ins,
                     .outs = shape.outs,
                     .ins = shape.ins,
                     .summed_ins = shape.ins,
                     .terms = 1});
    const LinearTerm term{&shard.view, matrix, inputs.data(), shape.ins};
    std::vector<float> out(size_t{shape.rows} * shape.outs);
    const LinearSum group{{&term, 1}, bias.data(), shape.outs,
                          out.data(), shape.outs,  Epilogue::kNone};
    linear->MeterDecoding(apart);
    linear->Run(shape.rows, {&group, 1});
    return out;
  }

  Shape shape;
  ShardMatrix matrix;
  testing::TestShard shard;
  std::vector<bool> outliers;
  std::vector<float> inputs;
  std::vector<float> bias;
};

constexpr Shape kShapes[] = {{64, 96, 13, false}, {48, 64, 5, true},   {40, 30, 3, false},
                             {21, 27, 2, true},   {16, 8, 1, false},   {7, 3, 4, false},
                             {33, 100, 25, true}, {96, 129, 12, false}};

// Returns the most that rounding both factors can do to a sum: half a step of each, and what sums
// in fp32 round in turn.
double Bound(const World& world, ComputeType type, uint32_t row, uint32_t out) {
  const double half_step = type == ComputeType::kBf16 ? 1.0 / 256 : 0;
  double largest = 0;  // of the row as it is packed
  double reach = 0;    // of the output's weights
  for (uint32_t k = 0; k < world.shape.ins; ++k) {
    const bool by_input = !world.shard.scales.empty() && !world.shape.scaled_by_output;
    const double scale = by_input ? world.shard.scales[k] : 1;
    largest = std::max(largest, std::abs(world.Input(row, k) * scale));
    reach = std::max(reach, std::abs(double{world.Weight(out, k)}));
  }
  reach = std::max(reach, 6.0 * 4 * kSpread);
  double bound = 1e-5;
  for (uint32_t k = 0; k < world.shape.ins; ++k) {
    const double x = std::abs(world.Input(row, k));
    const double w = std::abs(world.Weight(out, k));
    bound += type == ComputeType::kBf16
                 ? x * w * (2 * half_step + half_step * half_step)
                 : x * reach / 127 * 2 + w * largest / 127 * 2 + reach * largest / (127.0 * 127);
  }
  return bound;
}

class Packed : public ::testing::TestWithParam<ComputeType> {};

TEST_P(Packed, ErrsNoMoreThanRoundingDoes) {
  for (const Shape& shape : kShapes) {
    for (const uint32_t bits : {2U, 4U, 5U, 6U, kFullBits}) {
      World world(shape, bits, 1, bits + shape.outs);
      const auto result = world.Run(GetParam(), 2);
      double error = 0;
      double size = 0;
      for (uint32_t r = 0; r < shape.rows; ++r) {
        for (uint32_t o = 0; o < shape.outs; ++o) {
          double sum = world.bias[o];
          for (uint32_t k = 0; k < shape.ins; ++k) {
            sum += double{world.Input(r, k)} * world.Weight(o, k);
          }
          const double off = result[size_t{r} * shape.outs + o] - sum;
          ASSERT_LE(std::abs(off), Bound(world, GetParam(), r, o))
              << shape.outs << "x" << shape.ins << " at " << bits << " bits, row " << r;
          error += off * off;
          size += sum * sum;
        }
      }
      // Bounds are for the worst case; on the whole it is far better.
      EXPECT_LT(std::sqrt(error / size), GetParam() == ComputeType::kBf16 ? 0.005 : 0.05)
          << shape.outs << "x" << shape.ins << " at " << bits << " bits";
    }
  }
}

// The CPU's instructions against the plain form: the same codes, and in 8 bits the same sums.
TEST_P(Packed, InstructionsDoWhatThePlainFormDoes) {
  const auto here = ComputeTypes();
  if (std::find(here.begin(), here.end(), GetParam()) == here.end()) {
    GTEST_SKIP() << "this CPU has no " << NameOf(GetParam()) << " products";
  }
  for (const Shape& shape : kShapes) {
    for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, kFullBits}) {
      for (const float largest : {0.1f, 1.0f}) {
        World world(shape, bits, largest, bits + shape.ins);
        const auto fast = world.Run(GetParam(), 1);
        ASSERT_TRUE(LimitInstructionSet(InstructionSets().back()));
        const auto plain = world.Run(GetParam(), 1);
        LimitInstructionSet("");
        for (size_t i = 0; i < fast.size(); ++i) {
          const float off = GetParam() == ComputeType::kInt8 ? 2e-5f : 1e-4f;
          ASSERT_NEAR(fast[i], plain[i], off * (1 + std::abs(plain[i])))
              << shape.outs << "x" << shape.ins << " at " << bits << " bits";
        }
      }
    }
  }
}

// Metered decoding is not fused with the product; nobody sees that from the numbers.
TEST_P(Packed, FusedOrNotTheBitsAreTheSame) {
  const auto check = [](const Shape& shape, uint32_t bits) {
    World world(shape, bits, 1, bits + shape.rows);
    EXPECT_EQ(world.Run(GetParam(), 1), world.Run(GetParam(), 1, true))
        << shape.rows << " rows of " << shape.ins << " at " << bits << " bits";
  };
  for (uint32_t rows = 1; rows <= 30; ++rows) check({48, 44, rows, rows % 2 == 0}, 2 + rows % 5);
  for (const uint32_t ins : {4U, 508U, 512U, 516U, 1100U}) check({16, ins, 19, false}, 6);
  check({64, 768, 40, true}, kFullBits);
}

TEST_P(Packed, SameBitsOnAnyThreadCount) {
  World world({192, 130, 19, true}, 6, 1, 3);
  const auto one = world.Run(GetParam(), 1);
  for (const uint32_t threads : {2U, 3U, 8U}) EXPECT_EQ(world.Run(GetParam(), threads), one);
}

TEST_P(Packed, WhatIsNotFiniteStaysSo) {
  const Shape shape{32, 64, 3, false};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    World world(shape, 6, 0.1f, 1);
    world.inputs[64 + 7] = bad;
    const auto result = world.Run(GetParam(), 1);
    for (uint32_t o = 0; o < shape.outs; ++o) {
      EXPECT_TRUE(std::isfinite(result[o]));
      EXPECT_FALSE(std::isfinite(result[shape.outs + o]));
      EXPECT_TRUE(std::isfinite(result[2 * shape.outs + o]));
    }
  }
}

TEST_P(Packed, TinyAndHugeNumbersAreNoTrouble) {
  for (const float size : {0.0f, 1e-41f, 1e-30f, 1e30f}) {
    for (const uint32_t ins : {64U, 76U}) {  // whole steps of the packing loop, and a rest
      World world({32, ins, 2, false}, 4, 0.1f, 2);
      for (float& x : world.inputs) x *= size;
      const auto result = world.Run(GetParam(), 1);
      for (const float x : result) EXPECT_TRUE(std::isfinite(x)) << size;
    }
  }
}

// A channel whose scale is zero has no weights but outliers, which no code can stand for.
TEST_P(Packed, OutliersOfAnEmptyChannelCount) {
  World world({32, 64, 4, false}, 6, 1, 5);
  world.shard.scales[9] = 0;
  const auto result = world.Run(GetParam(), 1);
  for (uint32_t o = 0; o < 32; ++o) {
    double sum = world.bias[o];
    for (uint32_t k = 0; k < 64; ++k) sum += double{world.Input(0, k)} * world.Weight(o, k);
    EXPECT_NEAR(result[o], sum, Bound(world, GetParam(), 0, o));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Packed, ::testing::Values(ComputeType::kBf16, ComputeType::kInt8),
                         [](const auto& test) { return std::string(NameOf(test.param)); });

TEST(ComputeType, Names) {
  for (const ComputeType type : {ComputeType::kFp32, ComputeType::kBf16, ComputeType::kInt8}) {
    EXPECT_EQ(ParseComputeType(NameOf(type)), type);
    const Kernel kernel = KernelFor({Backend::kNative, type});
    EXPECT_EQ(kernel.type, type);
    EXPECT_EQ(ParseKernel(kernel.name), kernel);
  }
  EXPECT_EQ(ParseKernel("").type, std::nullopt);
  EXPECT_EQ(ParseKernel("native-avx512").type, std::nullopt);
  EXPECT_EQ(ParseComputeType("fp16"), std::nullopt);
}

TEST(ComputeType, FollowsTheInstructionSet) {
  const auto sets = InstructionSets();
  if (sets.size() == 1) GTEST_SKIP() << "this CPU has one instruction set";
  ASSERT_TRUE(LimitInstructionSet(sets.back()));
  EXPECT_EQ(ComputeTypes(), std::vector<ComputeType>{ComputeType::kFp32});
  ThreadPool pool(1);
  const auto refused =
      Linear::Create({Backend::kNative, ComputeType::kInt8}, pool, Activation::kRelu);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kMachine);
  LimitInstructionSet("");
}

TEST(ComputeType, OpenBlasHasOnlyOne) {
  ThreadPool pool(1);
  EXPECT_FALSE(
      Linear::Create({Backend::kOpenBlas, ComputeType::kBf16}, pool, Activation::kRelu).ok());
}

}  // namespace
}  // namespace sti
