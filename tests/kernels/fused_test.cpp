#include "kernels/fp32/fused.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/aligned_buffer.h"
#include "kernels/gemm.h"
#include "kernels/shard_encoder.h"
#include "support/random.h"
#include "types/bits.h"

namespace sti {
namespace {

enum class Scaled { kNot, kInputs, kOutputs };

// Decoding and multiplying at once against one after the other: the same bits in both results.
void ExpectSame(uint32_t bits, Scaled scaled, uint32_t rows, uint32_t ins, bool starts = false) {
  constexpr uint32_t kOuts = 48;
  const ShardMatrix matrix{kOuts, ins, 128, 0, scaled == Scaled::kOutputs};
  auto shard = testing::MakeShard(matrix.first + uint64_t{kOuts} * ins, bits, DataType::kF16, 0.02,
                                  0.3f, bits + rows);
  TestRandom random(rows);
  shard.scales = random.Normals(std::max(kOuts, ins), 0.3);
  if (scaled != Scaled::kNot) shard.view.scales = shard.scales.data();
  const std::vector<float> a = random.Normals(size_t{rows} * ins, 1);
  const std::vector<float> begin = random.Normals(size_t{rows} * kPanelWidth, 1);
  const std::vector<float> bias = random.Normals(kPanelWidth, 1);
  const float* start = starts ? bias.data() : nullptr;
  const PanelStretch stretch{matrix, 16, 4, ins - 4};
  ASSERT_TRUE(CanFuse(shard.view, stretch));

  AlignedBuffer plain(size_t{ins} * kPanelWidth * sizeof(float));
  auto* weights = reinterpret_cast<float*>(plain.data());
  DecodePanel(shard.view, stretch, weights);
  std::vector<float> expected = begin;
  MultiplyPanels({.a = a.data() + 4,
                  .a_stride = ins,
                  .rows = rows,
                  .ins = stretch.ins,
                  .panels = {{weights, kPanelWidth}, {}},
                  .c = expected.data(),
                  .c_stride = kPanelWidth,
                  .width = kPanelWidth,
                  .start = start});

  AlignedBuffer overlay(size_t{ins} * kPanelWidth * sizeof(float));
  std::vector<uint16_t> masks(ins, 0xFFFF);
  AlignedBuffer decoded(size_t{ins} * kPanelWidth * sizeof(float));
  std::vector<float> interleaved(size_t{ins} * kFusedRows);
  InterleaveRows(a.data() + 4, ins, rows, stretch.ins, interleaved.data());
  for (const bool keep : {false, true}) {
    std::vector<float> c = begin;
    MultiplyDecoding({.shard = shard.view,
                      .stretch = stretch,
                      .overlay = {reinterpret_cast<float*>(overlay.data()), masks.data()},
                      .a = interleaved.data(),
                      .rows = rows,
                      .start = start,
                      .c = c.data(),
                      .c_stride = kPanelWidth,
                      .decoded = keep ? reinterpret_cast<float*>(decoded.data()) : nullptr});
    EXPECT_EQ(c, expected) << bits << " bits, " << rows << " rows";
  }
  EXPECT_EQ(std::memcmp(decoded.data(), weights, size_t{stretch.ins} * kPanelWidth * 4), 0)
      << bits << " bits, " << rows << " rows";
}

TEST(Fused, TheSameBitsAsOneAfterTheOther) {
  if (!CanFuseHere()) GTEST_SKIP() << "this CPU has no AVX-512 with VBMI";
  for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U}) {
    for (const Scaled scaled : {Scaled::kNot, Scaled::kInputs, Scaled::kOutputs}) {
      for (uint32_t rows = 1; rows <= kFusedRows; ++rows) ExpectSame(bits, scaled, rows, 44);
      ExpectSame(bits, scaled, 7, 8);
      ExpectSame(bits, scaled, 5, 12, true);
    }
  }
}

TEST(Fused, OnlyWhatItCan) {
  const auto shard = testing::MakeShard(16 * 64, 6, DataType::kF16, 0, 0.3f, 1);
  const auto full = testing::MakeShard(16 * 64, kFullBits, DataType::kF16, 0, 0.3f, 1);
  const ShardMatrix matrix{16, 64, 0};
  const ShardMatrix narrow{12, 64, 0};
  const ShardMatrix odd{16, 62, 0};
  EXPECT_EQ(CanFuse(shard.view, {matrix, 0, 0, 64}), CanFuseHere());
  EXPECT_FALSE(CanFuse(full.view, {matrix, 0, 0, 64}));
  EXPECT_FALSE(CanFuse(shard.view, {narrow, 0, 0, 64}));
  EXPECT_FALSE(CanFuse(shard.view, {odd, 0, 0, 62}));
}

TEST(InterleaveRows, PutsEachNumberInItsPlace) {
  constexpr uint32_t kIns = 22;  // whole fours, and a rest
  constexpr size_t kStride = 25;
  std::vector<float> in(kFusedRows * kStride);
  std::iota(in.begin(), in.end(), 1.0f);
  for (uint32_t rows = 1; rows <= kFusedRows; ++rows) {
    std::vector<float> out(size_t{kIns} * kFusedRows, -1);
    InterleaveRows(in.data(), kStride, rows, kIns, out.data());
    for (uint32_t k = 0; k < kIns; ++k) {
      for (uint32_t r = 0; r < kFusedRows; ++r) {
        const float expected = r < rows ? in[r * kStride + k] : 0;
        ASSERT_EQ(out[size_t{k} * kFusedRows + r], expected) << rows << " rows, input " << k;
      }
    }
  }
}

TEST(InterleaveRows, ZerosWhereThereIsNoRow) {
  const std::vector<float> in = {1, 2, 0, 3, 4, 0};
  std::vector<float> out(2 * kFusedRows, 9.0f);
  InterleaveRows(in.data(), 3, 2, 2, out.data());
  std::vector<float> expected(2 * kFusedRows, 0.0f);
  expected[0] = 1;
  expected[1] = 3;
  expected[kFusedRows] = 2;
  expected[kFusedRows + 1] = 4;
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace sti
