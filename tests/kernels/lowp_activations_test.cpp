#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cpu/linear_parts.h"
#include "kernels/lowp/activations.h"
#include "kernels/shard_encoder.h"
#include "support/random.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr uint32_t kOuts = 48;
constexpr uint32_t kIns = 64;
constexpr uint32_t kInputRows = 21;
constexpr uint32_t kSlices = 3;
constexpr uint32_t kMatrices = 6;

/// Slices of a layer: each has a group for each of six matrices with scales of their own, and the
/// last is of full fidelity.
struct Slices {
  Slices() {
    TestRandom random(1);
    inputs = random.Normals(size_t{kInputRows} * kIns, 1);
    bias = random.Normals(kOuts, 1);
    scales = random.Normals(size_t{kMatrices} * kIns, 0.2, 1);
    constexpr uint32_t kWeights = kMatrices * kOuts * kIns;
    for (uint32_t s = 0; s < kSlices; ++s) {
      const uint32_t bits = s + 1 == kSlices ? kFullBits : 3 + s;
      shards.push_back(testing::MakeShard(kWeights, bits, DataType::kF16, 0.02, 0.04f, s, 0.2f));
      if (bits != kFullBits) shards.back().view.scales = scales.data();
    }
    out.resize(size_t{kMatrices} * kSlices * kInputRows * kOuts);
    for (uint32_t m = 0; m < kMatrices; ++m) {
      for (const testing::TestShard& shard : shards) {
        const ShardMatrix matrix{kOuts, kIns, uint64_t{m} * kOuts * kIns, m * kIns, false};
        terms.push_back({&shard.view, matrix, inputs.data(), kIns});
      }
    }
    for (size_t i = 0; i < terms.size(); ++i) {
      groups.push_back({.terms = {&terms[i], 1},
                        .bias = bias.data(),
                        .outs = kOuts,
                        .out = out.data() + i * kInputRows * kOuts,
                        .out_stride = kOuts});
    }
  }

  std::vector<float> inputs;
  std::vector<float> bias;
  std::vector<float> scales;
  std::vector<testing::TestShard> shards;
  std::vector<float> out;
  std::vector<LinearTerm> terms;
  std::vector<LinearSum> groups;
};

constexpr LinearLimits kLimits = {.rows = kInputRows,
                                  .matrix_weights = kOuts * kIns,
                                  .outs = kOuts,
                                  .ins = kIns,
                                  .summed_ins = kIns,
                                  .terms = kSlices};

class PackedActivationsOf : public ::testing::TestWithParam<ComputeType> {};

TEST_P(PackedActivationsOf, AreSharedByTermsOfOneInputAndScale) {
  const Slices slices;
  ThreadPool pool(2);
  PackedActivations activations(GetParam(), pool);
  activations.Reserve(kLimits);
  // Three matrices have three scales, and a slice has none.
  const size_t count = activations.Pack(kInputRows, std::span(slices.groups).first(9), false);
  ASSERT_EQ(count, 9U);
  const auto of = [&](size_t i) { return &activations.Of(slices.terms[i]); };
  EXPECT_EQ(of(0), of(1));
  EXPECT_EQ(of(3), of(4));
  EXPECT_NE(of(0), of(3)) << "other scales";
  EXPECT_NE(of(0), of(2)) << "no scales";
  EXPECT_EQ(of(2), of(5));
}

TEST_P(PackedActivationsOf, AreNotSharedByOtherRows) {
  const Slices slices;
  ThreadPool pool(1);
  PackedActivations activations(GetParam(), pool);
  activations.Reserve(kLimits);
  const LinearTerm& term = slices.terms[0];
  const auto shared = [&](const LinearTerm& other) {
    const LinearSum group{.terms = {&other, 1}, .bias = slices.bias.data(), .outs = kOuts};
    const LinearSum both[] = {slices.groups[0], group};
    EXPECT_EQ(activations.Pack(kInputRows / 2, both, false), 2U);
    return &activations.Of(term) == &activations.Of(other);
  };
  EXPECT_TRUE(shared(term));
  LinearTerm begins_later = term;
  begins_later.in += kIns;
  EXPECT_FALSE(shared(begins_later));
  LinearTerm further_apart = term;
  further_apart.in_stride *= 2;
  EXPECT_FALSE(shared(further_apart));
  LinearTerm shorter = term;
  shorter.matrix.ins -= 4;
  EXPECT_FALSE(shared(shorter));
}

// A coded shard without scales reads the rows that one of full fidelity does, but may multiply some
// of them while it is decoded.
TEST_P(PackedActivationsOf, OfCodedAndOfFullShardsWithoutScalesGoTogether) {
  Slices together;
  Slices apart;
  for (Slices* slices : {&together, &apart}) slices->shards[1].view.scales = nullptr;
  ThreadPool pool(2);
  const auto linear = MakePackedLinear(GetParam(), pool, Activation::kRelu);
  linear->Reserve(kLimits);
  linear->Run(kInputRows, std::span(together.groups).first(kSlices));
  for (uint32_t i = 0; i < kSlices; ++i) linear->Run(kInputRows, {&apart.groups[i], 1});
  EXPECT_EQ(together.out, apart.out);
}

TEST_P(PackedActivationsOf, AreWhatPackRowsMakes) {
  const Slices slices;
  ThreadPool pool(2);
  PackedActivations activations(GetParam(), pool);
  activations.Reserve(kLimits);
  activations.Pack(kInputRows, std::span(slices.groups).subspan(3, 1), false);
  const PackedRows& packed = activations.Of(slices.terms[3]).rows;
  std::vector<uint32_t> data(kInputRows * packed.stride);
  std::vector<float> scales(kInputRows);
  std::vector<int32_t> starts(kInputRows);
  PackRows(GetParam(), {slices.inputs.data(), kIns, kInputRows, kIns}, slices.scales.data() + kIns,
           {data.data(), packed.stride, 0, scales.data(), starts.data()});
  for (uint32_t row = 0; row < kInputRows; ++row) {
    const size_t bytes = PackedSteps(GetParam(), kIns) * sizeof(uint32_t);
    EXPECT_EQ(
        std::memcmp(packed.data + row * packed.stride, data.data() + row * packed.stride, bytes),
        0);
    if (GetParam() != ComputeType::kInt8) continue;
    EXPECT_EQ(packed.scales[row], scales[row]);
    EXPECT_EQ(packed.starts[row], starts[row]);
  }
}

// Six matrices with scales of their own, and shards without, are more than are packed at once.
TEST_P(PackedActivationsOf, MoreThanALayerHasAreMultipliedInTurns) {
  Slices together;
  Slices apart;
  ThreadPool pool(2);
  PackedActivations activations(GetParam(), pool);
  activations.Reserve(kLimits);
  EXPECT_LT(activations.Pack(kInputRows, together.groups, true), together.groups.size());
  const auto linear = MakePackedLinear(GetParam(), pool, Activation::kRelu);
  linear->Reserve(kLimits);
  linear->Run(kInputRows, together.groups);
  for (const LinearSum& group : apart.groups) linear->Run(kInputRows, {&group, 1});
  EXPECT_EQ(together.out, apart.out);
}

INSTANTIATE_TEST_SUITE_P(Types, PackedActivationsOf,
                         ::testing::Values(ComputeType::kBf16, ComputeType::kInt8),
                         [](const auto& test) { return std::string(NameOf(test.param)); });

}  // namespace
}  // namespace sti
