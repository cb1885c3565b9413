// Each function of lowp/targets.h with this CPU's instructions, against its plain form: the same
// codes, panels and units to the bit, in 8 bits the same sums, in bf16 sums within a bound. Skipped
// where the CPU has no such products.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "base/aligned_buffer.h"
#include "base/half.h"
#include "kernels/backend.h"
#include "kernels/lowp/panels.h"
#include "kernels/shard_encoder.h"
#include "support/random.h"
#include "types/bits.h"

namespace sti {
namespace {

class PackedParts : public ::testing::TestWithParam<ComputeType> {
 protected:
  void SetUp() override {
    const auto here = ComputeTypes();
    if (std::find(here.begin(), here.end(), GetParam()) == here.end()) {
      GTEST_SKIP() << "this CPU has no " << NameOf(GetParam()) << " products";
    }
  }
  void TearDown() override { LimitInstructionSet(""); }

  static void Plainly(const std::function<void()>& work) {
    ASSERT_TRUE(LimitInstructionSet(InstructionSets().back()));
    const auto left = ComputeTypes();
    ASSERT_EQ(left.size(), 1u) << "the smallest instruction set has no packed products";
    work();
    LimitInstructionSet("");
  }
};

/// Rows as packed, with room for whole vectors.
struct Rows {
  Rows(ComputeType type, uint32_t rows, uint32_t ins)
      : dwords(rows * PackedStride(type, ins)), scales(rows), starts(rows) {
    packed = {dwords.data(), PackedStride(type, ins), 0, scales.data(), starts.data()};
  }
  /// The dwords that count.
  [[nodiscard]] std::vector<uint32_t> Steps(uint32_t row, uint32_t steps) const {
    const auto begin = dwords.begin() + static_cast<std::ptrdiff_t>(row * packed.stride);
    return {begin, begin + steps};
  }
  std::vector<uint32_t> dwords;
  std::vector<float> scales;
  std::vector<int32_t> starts;
  PackedRows packed;
};

TEST_P(PackedParts, RowsArePackedAlike) {
  const ComputeType type = GetParam();
  TestRandom random(1);
  for (const uint32_t ins : {1U, 2U, 3U, 4U, 7U, 8U, 15U, 16U, 17U, 31U, 33U, 64U, 100U, 129U}) {
    constexpr uint32_t kRows = 11;  // two blocks of four, and single ones
    const size_t stride = ins + 5;
    auto in = random.Normals(kRows * stride, 3);
    if (type == ComputeType::kInt8) {
      in[stride] = std::numeric_limits<float>::quiet_NaN();
      in[6 * stride + ins - 1] = -std::numeric_limits<float>::infinity();
      in[9 * stride + ins / 2] = std::numeric_limits<float>::infinity();
    }
    const auto scales = random.Normals(ins, 1);
    for (const float* by : {static_cast<const float*>(nullptr), scales.data()}) {
      const RowsRef from{in.data(), stride, kRows, ins};
      Rows fast(type, kRows, ins);
      Rows plain(type, kRows, ins);
      PackRows(type, from, by, fast.packed);
      Plainly([&] { PackRows(type, from, by, plain.packed); });
      for (uint32_t r = 0; r < kRows; ++r) {
        const uint32_t steps = PackedSteps(type, ins);
        EXPECT_EQ(fast.Steps(r, steps), plain.Steps(r, steps)) << "row " << r << " of " << ins;
        EXPECT_EQ(std::isnan(fast.scales[r]), std::isnan(plain.scales[r])) << r << " of " << ins;
        if (!std::isnan(plain.scales[r])) {
          EXPECT_EQ(fast.scales[r], plain.scales[r]) << r << " of " << ins;
        }
      }
      EXPECT_EQ(fast.starts, plain.starts) << ins;
    }
  }
}

/// Holds what a tile is decoded to.
struct Decoded {
  Decoded(ComputeType type, uint32_t ins)
      : dwords(kTilePanels * PanelBytes(type, ins)),
        overlay(OverlayDwords(type, ins) * sizeof(uint32_t)),
        scratch((size_t{ins} * kPanelWidth + 63) / 64 * 64),
        units(kTileWidth),
        far(size_t{ins} * kTileWidth) {
    std::memset(dwords.data(), 0, dwords.size());
    std::memset(overlay.data(), 0, overlay.size());
  }
  static size_t PanelBytes(ComputeType type, uint32_t ins) {
    return size_t{PackedSteps(type, ins)} * kPanelWidth * sizeof(uint32_t);
  }

  void Run(ComputeType type, const ShardView& shard, const ShardMatrix& matrix, uint32_t out) {
    FarWeights weights;
    const PackedTable table = PackCentroids(type, shard);
    const uint32_t width = std::min(kTileWidth, matrix.outs - out);
    const auto panel = [&](uint32_t p) {
      return PackedPanel{
          reinterpret_cast<uint32_t*>(dwords.data() + p * PanelBytes(type, matrix.ins)),
          units.data() + size_t{p} * kPanelWidth};
    };
    DecodePacked({type, shard, table, matrix, out, width, scratch.data(),
                  reinterpret_cast<uint32_t*>(overlay.data()) + kOverlayFront, weights},
                 {}, {panel(0), panel(1)});
    const auto left = overlay.span().subspan(kOverlayFront * sizeof(uint32_t));
    EXPECT_TRUE(std::all_of(left.begin(), left.end(), [](uint8_t b) { return b == 0; }));
    // Rows of a unit matrix bring each far weight to its place.
    std::vector<float> unit(size_t{matrix.ins} * matrix.ins);
    for (size_t i = 0; i < matrix.ins; ++i) unit[i * (matrix.ins + 1)] = 1;
    weights.AddTo({unit.data(), matrix.ins, matrix.ins, matrix.ins}, far.data(), kTileWidth);
  }

  AlignedBuffer dwords;
  AlignedBuffer overlay;
  std::vector<float> scratch;
  std::vector<float> units;
  std::vector<float> far;  ///< [ins, kTileWidth]
};

TEST_P(PackedParts, PanelsAreDecodedAlike) {
  const ComputeType type = GetParam();
  TestRandom random(2);
  for (const uint32_t ins : {4U, 8U, 12U, 16U, 20U, 64U, 76U}) {
    for (const uint32_t bits : {2U, 3U, 4U, 5U, 6U, kFullBits}) {
      for (const bool by_output : {false, true}) {
        const ShardMatrix matrix{48, ins, 0, 0, by_output};
        auto shard = testing::MakeShard(uint64_t{matrix.outs} * ins, bits, DataType::kBF16, 0.03,
                                        0.04f, bits + ins);
        shard.scales = random.Normals(by_output ? matrix.outs : ins, 0.2, 1);
        shard.scales[1] = 0;  // no code reaches an outlier there
        if (bits != kFullBits) shard.view.scales = shard.scales.data();
        // The last panel ends where the planes do.
        for (const uint32_t out : {0U, 32U}) {
          Decoded fast(type, ins);
          Decoded plain(type, ins);
          fast.Run(type, shard.view, matrix, out);
          Plainly([&] { plain.Run(type, shard.view, matrix, out); });
          EXPECT_EQ(std::memcmp(fast.dwords.data(), plain.dwords.data(), fast.dwords.size()), 0)
              << ins << " inputs at " << bits << " bits";
          EXPECT_EQ(fast.units, plain.units);
          EXPECT_EQ(fast.far, plain.far);
        }
      }
    }
  }
}

/// A product of random operands; codes of 8 bits over their whole range.
struct Product {
  Product(ComputeType type, uint32_t rows, uint32_t steps, uint32_t width, uint64_t seed)
      : inputs(steps * PackedInputs(type)),
        a(type, rows, inputs),
        panels{AlignedBuffer(PanelBytes(steps)), AlignedBuffer(PanelBytes(steps))},
        product{a.packed, rows, steps, {}, nullptr, nullptr, nullptr, width, width} {
    TestRandom random(seed);
    const auto fill = [&](uint32_t* data, size_t count) {
      for (size_t i = 0; i < count; ++i)
        data[i] = type == ComputeType::kBf16 ? Pair(random) : Codes(random);
    };
    fill(a.dwords.data(), a.dwords.size());
    for (uint32_t r = 0; r < rows; ++r) {
      a.scales[r] = static_cast<float>(random.Normal());
      a.starts[r] = -kCodeOffset * SumOfCodes(r);
    }
    for (int p = 0; p < 2; ++p) {
      auto* data = reinterpret_cast<uint32_t*>(panels[p].data());
      fill(data, size_t{steps} * kPanelWidth);
      product.panels[p] = data;
    }
    units = random.Normals(2 * kPanelWidth, 1);
    start = random.Normals(width, 1);
    c = random.Normals(size_t{rows} * width, 1);
    product.units = units.data();
  }
  static uint64_t PanelBytes(uint32_t steps) { return uint64_t{steps} * kPanelWidth * 4; }
  static uint32_t Pair(TestRandom& random) {
    const auto half = [&] { return uint32_t{FloatToBFloat(static_cast<float>(random.Normal()))}; };
    const uint32_t low = half();
    return low | half() << 16;
  }
  static uint32_t Codes(TestRandom& random) {
    uint32_t dword = 0;
    for (int i = 0; i < 4; ++i) {
      const auto code = static_cast<uint8_t>(random.Below(255) + 129);  // -127 to 127
      dword = dword << 8 | code;
    }
    return dword;
  }
  [[nodiscard]] int32_t SumOfCodes(uint32_t row) const {
    const auto* codes = reinterpret_cast<const int8_t*>(a.packed.data + row * a.packed.stride);
    int32_t sum = 0;
    for (uint32_t i = 0; i < inputs; ++i) sum += codes[i];
    return sum;
  }
  /// Magnitude of the terms of a bf16 sum.
  [[nodiscard]] double Size(uint32_t row, uint32_t column) const {
    const auto* x = reinterpret_cast<const uint16_t*>(a.packed.data + row * a.packed.stride);
    const auto* w = reinterpret_cast<const uint16_t*>(product.panels[column / kPanelWidth]);
    double size = 0;
    for (uint32_t i = 0; i < inputs; ++i) {
      const size_t at = (size_t{i} / 2 * kPanelWidth + column % kPanelWidth) * 2 + i % 2;
      size += std::abs(double{BFloatToFloat(x[i])} * BFloatToFloat(w[at]));
    }
    return size;
  }
  std::vector<float> Run(ComputeType type, bool from_start) {
    std::vector<float> out = c;
    product.c = out.data();
    product.start = from_start ? start.data() : nullptr;
    MultiplyPacked(type, product);
    return out;
  }

  uint32_t inputs;
  Rows a;
  AlignedBuffer panels[2];
  std::vector<float> units;
  std::vector<float> start;
  std::vector<float> c;
  PackedProduct product;
};

TEST_P(PackedParts, SumsAreAlike) {
  const ComputeType type = GetParam();
  const auto check = [&](uint32_t rows, uint32_t steps, uint32_t width) {
    Product product(type, rows, steps, width, uint64_t{rows} * 1000 + steps * 40 + width);
    const bool from_start = steps % 2 == 0;
    const auto fast = product.Run(type, from_start);
    std::vector<float> plain;
    Plainly([&] { plain = product.Run(type, from_start); });
    if (type == ComputeType::kInt8) {
      EXPECT_EQ(fast, plain) << rows << " rows, " << steps << " steps, " << width << " wide";
      return;
    }
    for (uint32_t i = 0; i < rows * width; ++i) {
      // Either rounds at most twice a step, to 2^-23 of sums that the terms' magnitudes bound.
      const double size = product.Size(i / width, i % width) * std::abs(product.units[i % width]);
      const double bound = size * steps * 4 * 0x1p-23 + std::abs(plain[i]) * 0x1p-22;
      ASSERT_NEAR(fast[i], plain[i], bound)
          << rows << " rows, " << steps << " steps, " << width << " wide, number " << i;
    }
  };
  for (uint32_t rows = 1; rows <= 26; ++rows) check(rows, 1 + rows % 9, 32);
  for (uint32_t width = 1; width <= 32; ++width) check(1 + width % 11, 6, width);
  for (const uint32_t steps : {1U, 3U, 4U, 5U, 16U, 67U}) check(9, steps, 20);
}

INSTANTIATE_TEST_SUITE_P(Types, PackedParts,
                         ::testing::Values(ComputeType::kBf16, ComputeType::kInt8),
                         [](const auto& test) { return std::string(NameOf(test.param)); });

}  // namespace
}  // namespace sti
