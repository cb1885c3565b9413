// The plain form of everything, and the choice between it and the CPU's instructions.
#include "kernels/lowp/panels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/half.h"
#include "kernels/decode.h"
#include "kernels/fp32/outliers.h"
#include "kernels/lowp/targets.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr float kMost = 127;                                      // of an 8-bit code's magnitude
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();  // no code reaches this
// An 8-bit weight as it is stored.
using StoredCode = std::conditional_t<kCodeOffset == 0, int8_t, uint8_t>;

// 8-bit codes reach six standard deviations. So weights out there, a few in ten thousand, are all
// that is far; and a code's rounding error is a third of that of the finest centroids.
constexpr float kReach = 6;
// Where the outermost centroid of 2..6 bits lies, in standard deviations: those of a normal
// distribution cut off at three.
constexpr std::array<float, 5> kOutermost = {1.5f, 2.1f, 2.5f, 2.75f, 2.85f};

// To the nearest, ties to even, for |x| < 2^22: there floats are whole numbers apart. std::lrint is
// a call into the C library.
int RoundCode(float x) {
  constexpr float kWhole = 12582912;  // 1.5 * 2^23
  return std::bit_cast<int32_t>(x + kWhole) - std::bit_cast<int32_t>(kWhole);
}

float UnitOf(const ShardView& shard) {
  float outermost = 0;
  for (uint32_t i = 0; i < 1U << shard.bits; ++i) {
    outermost = std::max(outermost, std::abs(shard.centroids[i]));
  }
  return outermost * kReach / (kOutermost[shard.bits - 2] * kMost);
}

/// Writes single weights of a panel in packed form.
class PanelWriter {
 public:
  /// Writes the tile's panel number `index`.
  PanelWriter(const TileDecoding& d, uint32_t index, const PackedPanel& panel)
      : type_(d.type),
        far_(d.far),
        column_(index * kPanelWidth),
        codes_(panel.data),
        units_(panel.units) {
    if (d.shard.bits == kFullBits || d.shard.scales == nullptr) return;
    by_output_ = d.matrix.scaled_by_output;
    scales_ = d.shard.scales + d.matrix.scales + (by_output_ ? d.out + column_ : 0);
  }

  /// Puts weights into an overlay from now on, as differences from `base`.
  void PutInto(uint32_t* overlay, uint16_t base) {
    codes_ = overlay;
    base_ = base;
  }

  /// Sets what a step of an output's codes is worth, in front of scales, and its inverse or 0.
  void SetUnit(uint32_t out, float unit, float factor) {
    steps_[out] = unit;
    factors_[out] = factor;
    units_[out] = by_output_ ? unit * scales_[out] : unit;
  }
  /// Sets one unit and its inverse, or 0, for all outputs of a panel of `width`.
  void SetUnits(uint32_t width, float unit, float factor) {
    std::fill_n(steps_, kPanelWidth, unit);
    std::fill_n(factors_, kPanelWidth, factor);
    std::fill_n(units_, kPanelWidth, unit);
    if (!by_output_) return;
    if (width == kPanelWidth) {
      // All sixteen, in memory that nothing else points to: compilers make vectors of that.
      std::array<float, kPanelWidth> units;
      std::copy_n(scales_, kPanelWidth, units.begin());
      for (float& x : units) x *= unit;
      std::copy_n(units.begin(), kPanelWidth, units_);
    } else {
      for (uint32_t o = 0; o < width; ++o) units_[o] = unit * scales_[o];
    }
    // Other shards' panels come first, so nobody else fetches those of the next tile.
    __builtin_prefetch(scales_ + kTileWidth);
  }
  /// Returns the numbers by which outliers of this and the other panels, of `ins` inputs each, are
  /// all put into `overlay`.
  [[nodiscard]] OutlierPatch PatchOf(uint32_t* overlay, uint32_t ins, uint32_t panels) const {
    return {overlay, factors_[0] > 0 ? factors_[0] : kNone, scales_, by_output_, ins, panels,
            base_};
  }
  /// Puts a weight in front of scales, which a code reaches.
  void Put(uint64_t in, uint32_t out, float weight) const {
    if (type_ == ComputeType::kBf16) return PutHalf(in, out, FloatToBFloat(weight));
    PutByte(in, out, RoundCode(weight * factors_[out]));
  }
  /// Puts any weight; what a code does not reach goes to the far ones.
  [[gnu::always_inline]] void PutAny(uint64_t in, uint32_t out, float weight) const {
    const float scale = scales_ == nullptr ? 1 : scales_[by_output_ ? out : in];
    const float code = factors_[out] > 0 ? weight * factors_[out] / scale : kNone;
    if (type_ == ComputeType::kBf16) {
      const bool reached = std::abs(code) < 3e38f;
      if (!reached) far_.Add(static_cast<uint32_t>(in), column_ + out, weight);
      return PutHalf(in, out, reached ? FloatToBFloat(code) : 0);
    }
    if (std::abs(code) <= kMost) return PutByte(in, out, RoundCode(code));
    const int nearest = std::isnan(code) ? 0 : RoundCode(std::clamp(code, -kMost, kMost));
    PutByte(in, out, nearest);
    far_.Add(static_cast<uint32_t>(in), column_ + out,
             weight - static_cast<float>(nearest) * steps_[out] * scale);
  }

 private:
  void PutHalf(uint64_t in, uint32_t out, uint16_t half) const {
    const uint64_t at = (in / 2 * kPanelWidth + out) * 2 + in % 2;
    reinterpret_cast<uint16_t*>(codes_)[at] = half ^ base_;
  }
  void PutByte(uint64_t in, uint32_t out, int code) const {
    const uint64_t at = (in / 4 * kPanelWidth + out) * 4 + in % 4;
    reinterpret_cast<uint8_t*>(codes_)[at] = static_cast<uint8_t>((code + kCodeOffset) ^ base_);
  }

  ComputeType type_;
  FarWeights& far_;
  uint32_t column_;
  uint32_t* codes_;
  uint16_t base_ = 0;
  float* units_;
  const float* scales_ = nullptr;
  bool by_output_ = false;
  float steps_[kPanelWidth];    ///< what a step of each output's codes is worth
  float factors_[kPanelWidth];  ///< their inverses
};

void Clear(ComputeType type, uint32_t ins, const PackedPanel& panel) {
  std::memset(panel.data, type == ComputeType::kInt8 ? kCodeOffset : 0,
              size_t{PackedSteps(type, ins)} * kPanelWidth * sizeof(uint32_t));
}

constexpr uint32_t kChunk = 16;  // inputs looked through one by one if a weight of them is far

// Full fidelity in 8 bits: each output has its own unit.
void FullUnits(const float* weights, uint32_t ins, uint32_t width, bool fast, float* units) {
  float squares[kPanelWidth] = {};
  float largest[kPanelWidth] = {};
  if (fast) {
    MeasureOutputsFast(weights, ins, squares, largest);
  } else {
    for (uint64_t i = 0; i < uint64_t{ins} * width; ++i) {
      squares[i % width] = std::fma(weights[i], weights[i], squares[i % width]);
      largest[i % width] = std::max(largest[i % width], std::abs(weights[i]));
    }
  }
  for (uint32_t o = 0; o < width; ++o) {
    const float spread = std::sqrt(squares[o] / static_cast<float>(ins));
    units[o] = std::min(largest[o], kReach * spread) / kMost;
  }
}

void PackFull(const TileDecoding& d, const PanelStretch& stretch, const PackedPanel& panel,
              PanelWriter& writer) {
  const ComputeType type = d.type;
  const ShardView& shard = d.shard;
  float* scratch = d.scratch;
  const uint32_t width = stretch.width();
  assert(width > 0);
  const uint64_t count = uint64_t{stretch.ins} * width;
  const bool fast = HasPackedInstructions(type) && width == kPanelWidth && stretch.ins % 4 == 0;
  WidenWeights(shard.full + stretch.first() * BytesOf(shard.type), shard.type, count, scratch);
  float units[kPanelWidth];
  std::fill_n(units, kPanelWidth, 1.0f);
  if (type == ComputeType::kInt8) FullUnits(scratch, stretch.ins, width, fast, units);
  float factors[kPanelWidth];
  for (uint32_t o = 0; o < width; ++o) {
    factors[o] = units[o] > 0 ? 1 / units[o] : 0;
    writer.SetUnit(o, units[o], factors[o]);
  }
  if (fast) {
    for (uint32_t k = 0; k < stretch.ins; k += kChunk) {
      const uint32_t rows = std::min(kChunk, stretch.ins - k);
      const float* chunk = scratch + uint64_t{k} * kPanelWidth;
      uint32_t* out = panel.data + uint64_t{k} / PackedInputs(type) * kPanelWidth;
      if (!PackWeightsFast(type, chunk, rows, factors, out)) continue;
      for (uint32_t i = 0; i < rows * kPanelWidth; ++i) {
        const uint32_t o = i % kPanelWidth;
        const bool reached = std::abs(chunk[i] * factors[o]) <= kMost;
        if (!reached) writer.PutAny(k + i / kPanelWidth, o, chunk[i]);
      }
    }
    return;
  }
  Clear(type, stretch.ins, panel);
  for (uint64_t i = 0; i < count; ++i) {
    if (scratch[i] != 0) writer.PutAny(i / width, static_cast<uint32_t>(i % width), scratch[i]);
  }
}

void PutOutliers(const ShardView& shard, const PanelStretch& stretch, const PanelWriter& writer) {
  const uint32_t width = stretch.width();
  assert(width > 0);
  ForEachOutlier(shard, stretch.first(), uint64_t{stretch.ins} * width,
                 [&](uint64_t at, float weight) {
                   writer.PutAny(at / width, static_cast<uint32_t>(at % width), weight);
                 });
}

// Puts outliers of panels of 16 outputs, which all have one factor, into `overlay`. The panels of a
// tile are put together: half the searches, and vectors are filled better.
void PatchOutliers(const TileDecoding& d, const PanelStretch& first, uint32_t panels,
                   uint32_t* overlay, const PanelWriter* writers) {
  const OutlierPatch patch = writers[0].PatchOf(overlay, first.ins, panels);
  const uint64_t count = uint64_t{first.ins} * kPanelWidth;
  ForEachOutlierChunk(
      d.shard, first.first(), panels * count,
      [&](int64_t offset, const uint8_t* lows, const float* weights, uint32_t chunk) {
        uint8_t far[kOutlierChunk];
        const uint32_t left = PutOutliersFast(d.type, patch, offset, lows, weights, chunk, far);
        for (uint32_t i = 0; i < left; ++i) {
          const auto at =
              static_cast<uint64_t>(offset + LoadLittle<uint16_t>(lows + 2 * size_t{far[i]}));
          const uint64_t in_panel = at % count;
          writers[at / count].PutAny(in_panel / kPanelWidth, in_panel % kPanelWidth,
                                     weights[far[i]]);
        }
      });
}

// Whether panels of this matrix are decoded by the CPU's instructions.
bool CanLookUp(ComputeType type, const ShardView& shard, const ShardMatrix& matrix) {
  return HasPackedInstructions(type) && shard.bits != kFullBits && matrix.outs % kPanelWidth == 0 &&
         matrix.ins % 4 == 0 && matrix.first % 8 == 0;
}

void PackCoded(const TileDecoding& d, const PanelStretch& stretch, const PackedPanel& panel,
               PanelWriter& writer) {
  const uint32_t width = stretch.width();
  assert(width > 0);
  writer.SetUnits(width, d.table.unit, d.table.factor);
  if (CanLookUp(d.type, d.shard, d.matrix)) {
    LookUpPackedFast(d.type,
                     {d.shard, stretch.first(), stretch.ins, d.table.words, d.overlay, panel}, {});
    return PatchOutliers(d, stretch, 1, panel.data, &writer);
  }
  Clear(d.type, stretch.ins, panel);
  const uint64_t count = uint64_t{stretch.ins} * width;
  DecodePlanes({d.shard.planes, d.shard.bits, d.shard.centroids}, stretch.first(), count,
               d.scratch);
  for (uint64_t i = 0; i < count; ++i) {
    writer.Put(i / width, static_cast<uint32_t>(i % width), d.scratch[i]);
  }
  PutOutliers(d.shard, stretch, writer);
}

void DecodeFused(const TileDecoding& d, const LeadingProduct& leading,
                 const PackedPanel (&panels)[kTilePanels]) {
  const uint32_t ins = d.matrix.ins;
  const uint32_t count = d.width / kPanelWidth;
  const size_t dwords = size_t{PackedSteps(d.type, ins)} * kPanelWidth;
  PanelWriter writers[kTilePanels] = {{d, 0, panels[0]}, {d, count - 1, panels[count - 1]}};
  for (uint32_t p = 0; p < count; ++p) {
    writers[p].SetUnits(kPanelWidth, d.table.unit, d.table.factor);
    writers[p].PutInto(d.overlay + p * dwords, d.table.words[0]);
  }
  const PanelStretch first{d.matrix, d.out, 0, ins};
  PatchOutliers(d, first, count, d.overlay, writers);
  LeadingProduct product = leading;
  for (uint32_t p = 0; p < count; ++p) {
    const uint64_t at = first.first() + p * uint64_t{ins} * kPanelWidth;
    LookUpPackedFast(d.type, {d.shard, at, ins, d.table.words, d.overlay + p * dwords, panels[p]},
                     product);
    product.c += kPanelWidth;
    if (product.start != nullptr) product.start += kPanelWidth;
  }
}

void PackRow(ComputeType type, const float* in, uint32_t ins, const float* scales, uint32_t* out,
             float* row_scale, int32_t* row_start) {
  const auto scaled = [&](uint32_t k) { return scales == nullptr ? in[k] : in[k] * scales[k]; };
  std::memset(out, 0, PackedSteps(type, ins) * sizeof(uint32_t));
  if (type == ComputeType::kBf16) {
    auto* halves = reinterpret_cast<uint16_t*>(out);
    for (uint32_t k = 0; k < ins; ++k) halves[k] = FloatToBFloat(scaled(k));
    return;
  }
  float most = 0;
  float poison = 0;  // becomes NaN if a number is not finite
  for (uint32_t k = 0; k < ins; ++k) {
    most = std::max(most, std::abs(scaled(k)));
    poison += scaled(k) * 0;
  }
  const float factor = most >= kLeastRow && poison == 0 ? kMost / most : 0;
  auto* bytes = reinterpret_cast<int8_t*>(out);
  int32_t sum = 0;
  for (uint32_t k = 0; k < ins; ++k) {
    const int code = factor == 0 ? 0 : RoundCode(scaled(k) * factor);
    bytes[k] = static_cast<int8_t>(code);
    sum += code;
  }
  *row_scale = most / kMost + poison;
  *row_start = -kCodeOffset * sum;
}

float PlainSum(ComputeType type, const PackedProduct& p, uint32_t row, uint32_t column) {
  const uint32_t* a = p.a.data + row * p.a.stride;
  const uint32_t* b = p.panels[column / kPanelWidth] + column % kPanelWidth;
  if (type == ComputeType::kInt8) {
    int32_t sum = p.a.starts[row];
    for (uint32_t step = 0; step < p.steps; ++step) {
      for (uint32_t i = 0; i < 32; i += 8) {
        sum += static_cast<int8_t>(a[step] >> i) *
               static_cast<StoredCode>(b[size_t{step} * kPanelWidth] >> i);
      }
    }
    return static_cast<float>(sum);
  }
  float sum = 0;
  for (uint32_t step = 0; step < p.steps; ++step) {
    for (uint32_t i = 0; i < 32; i += 16) {
      sum += BFloatToFloat(static_cast<uint16_t>(a[step] >> i)) *
             BFloatToFloat(static_cast<uint16_t>(b[size_t{step} * kPanelWidth] >> i));
    }
  }
  return sum;
}

}  // namespace

void FarWeights::AddTo(const RowsRef& in, float* c, size_t c_stride) {
  for (const Weight& far : weights_) {
    for (uint32_t row = 0; row < in.rows; ++row) {
      c[row * c_stride + far.column] += far.weight * in.data[row * in.stride + far.input];
    }
  }
  weights_.clear();
}

bool CanFusePacked(ComputeType type, const ShardView& shard, const ShardMatrix& matrix) {
  return kFusesPacked && CanLookUp(type, shard, matrix);
}

void PackRows(ComputeType type, const RowsRef& in, const float* scales, const PackedRows& out) {
  assert(out.chunk == 0 || in.rows == 0 || (kFusesPacked && HasPackedInstructions(type)));
  if (HasPackedInstructions(type)) return PackRowsFast(type, in, scales, out);
  const bool bytes = type == ComputeType::kInt8;
  for (uint32_t row = 0; row < in.rows; ++row) {
    PackRow(type, in.data + row * in.stride, in.ins, scales, out.data + row * out.stride,
            bytes ? out.scales + row : nullptr, bytes ? out.starts + row : nullptr);
  }
}

PackedTable PackCentroids(ComputeType type, const ShardView& shard) {
  PackedTable table;
  if (shard.bits == kFullBits) return table;
  if (type == ComputeType::kInt8) {
    table.unit = UnitOf(shard);
    table.factor = table.unit > 0 ? 1 / table.unit : 0;
  }
  for (uint32_t i = 0; i < 1U << shard.bits; ++i) {
    const float centroid = shard.centroids[i];
    table.words[i] = type == ComputeType::kBf16
                         ? FloatToBFloat(centroid)
                         : static_cast<uint16_t>(RoundCode(centroid * table.factor) + kCodeOffset);
  }
  return table;
}

void DecodePacked(const TileDecoding& decoding, const LeadingProduct& leading,
                  const PackedPanel (&panels)[kTilePanels]) {
  const TileDecoding& d = decoding;
  if (CanFusePacked(d.type, d.shard, d.matrix)) return DecodeFused(d, leading, panels);
  assert(leading.rows == 0);
  for (uint32_t p = 0; p * kPanelWidth < d.width; ++p) {
    PanelWriter writer(d, p, panels[p]);
    const PanelStretch stretch{d.matrix, d.out + p * kPanelWidth, 0, d.matrix.ins};
    if (d.shard.bits == kFullBits) {
      PackFull(d, stretch, panels[p], writer);
    } else {
      PackCoded(d, stretch, panels[p], writer);
    }
  }
}

void MultiplyPacked(ComputeType type, const PackedProduct& p) {
  if (HasPackedInstructions(type)) return MultiplyPackedFast(type, p);
  for (uint32_t row = 0; row < p.rows; ++row) {
    const float scale = type == ComputeType::kInt8 ? p.a.scales[row] : 1;
    for (uint32_t column = 0; column < p.width; ++column) {
      float& c = p.c[row * p.c_stride + column];
      const float old = p.start != nullptr ? p.start[column] : c;
      c = std::fma(PlainSum(type, p, row, column) * p.units[column], scale, old);
    }
  }
}

#if !defined(__x86_64__) && !STI_PACKED_NEON

// Where there are no instructions for packed operands these are never called: HasPackedInstructions
// says no.
void PackRowsFast(ComputeType, const RowsRef&, const float*, const PackedRows&) {}
void MultiplyPackedFast(ComputeType, const PackedProduct&) {}
void LookUpPackedFast(ComputeType, const PackedLookUp&, const LeadingProduct&) {}
uint32_t PutOutliersFast(ComputeType, const OutlierPatch&, int64_t, const uint8_t*, const float*,
                         uint32_t, uint8_t*) {
  return 0;
}
bool PackWeightsFast(ComputeType, const float*, uint32_t, const float*, uint32_t*) { return false; }
void MeasureOutputsFast(const float*, uint32_t, float*, float*) {}

#endif

}  // namespace sti
