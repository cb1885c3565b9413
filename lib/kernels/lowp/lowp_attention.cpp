#include "kernels/lowp_attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/checked.h"
#include "base/half.h"
#include "kernels/gemm.h"
#include "kernels/lowp/panels.h"
#include "kernels/lowp/targets.h"

namespace sti {
namespace {

constexpr ComputeType kBf16 = ComputeType::kBf16;
constexpr uint32_t kPair = 2 * kPanelWidth;

// Rounds the number at (row, column) of a matrix to half `half(row, column)` of `out`.
template <typename F>
void PlaceHalves(const RowsRef& in, uint64_t dwords, uint32_t* out, const F& half) {
  std::memset(out, 0, dwords * sizeof(uint32_t));
  auto* halves = reinterpret_cast<uint16_t*>(out);
  for (uint32_t row = 0; row < in.rows; ++row) {
    for (uint32_t k = 0; k < in.ins; ++k) {
      halves[half(row, k)] = FloatToBFloat(in.data[row * in.stride + k]);
    }
  }
}

// The half of input `in` for output `out`, of panels with `steps` steps.
size_t HalfOf(uint32_t steps, uint32_t in, uint32_t out) {
  const size_t step = size_t{out / kPanelWidth} * steps + in / 2;
  return (step * kPanelWidth + out % kPanelWidth) * 2 + in % 2;
}

// a = rows [rows, 2 * steps], times all of `width` columns.
void MultiplyAll(const PackedRows& a, uint32_t rows, uint32_t steps, const uint32_t* panels,
                 float unit, float* c, size_t c_stride, uint32_t width) {
  float units[kPair];
  std::fill_n(units, kPair, unit);
  for (uint32_t column = 0; column < width; column += kPair) {
    const uint32_t* first = panels + size_t{column} * steps;
    MultiplyPacked(kBf16, {.a = a,
                           .rows = rows,
                           .steps = steps,
                           .panels = {first, first + size_t{kPanelWidth} * steps},
                           .units = units,
                           .start = kFromZero,
                           .c = c + column,
                           .c_stride = c_stride,
                           .width = std::min(kPair, width - column)});
  }
}

// Adds rows of rounded weights [rows, tokens] to `sums` [tokens].
void AddWeights(const PackedRows& weights, uint32_t rows, uint32_t tokens, float* sums) {
  for (uint32_t r = 0; r < rows; ++r) {
    const auto* halves = reinterpret_cast<const uint8_t*>(weights.data + r * weights.stride);
    for (uint32_t i = 0; i < tokens; ++i) {
      uint16_t half;
      std::memcpy(&half, halves + size_t{2} * i, sizeof(half));
      sums[i] += BFloatToFloat(half);
    }
  }
}

}  // namespace

// AVX-512 alone packs attention. Its products in bf16 have all that packing needs; those in int8
// may lack it.
AttentionLayouts AttentionLayoutsOf(std::string_view kernel, ComputeType type) {
  if (type == ComputeType::kFp32) return {.plain = true};
  const bool avx512 = kernel.starts_with("native-avx512-");
  const bool neon = kernel.starts_with("native-neon-");
  return {.plain = !avx512 || type != ComputeType::kBf16, .packed = !neon};
}

void PackKeys(const RowsRef& keys, uint32_t* out) {
  if (CanPackAttention()) return PackKeysAvx512(keys, out);
  const uint32_t steps = PackedSteps(kBf16, keys.ins);
  PlaceHalves(keys, PackedKeyDwords(keys.rows, keys.ins), out,
              [=](uint32_t row, uint32_t k) { return HalfOf(steps, k, row); });
}

void PackValues(const RowsRef& values, uint32_t* out) {
  if (CanPackAttention()) return PackValuesAvx512(values, out);
  const uint32_t steps = PackedSteps(kBf16, values.rows);
  PlaceHalves(values, PackedValueDwords(values.rows, values.ins), out,
              [=](uint32_t row, uint32_t k) { return HalfOf(steps, row, k); });
}

void SoftmaxPacked(float* row, uint32_t count) {
  assert(count > 0);
  if (CanPackAttention()) return SoftmaxPackedAvx512(row, count);
  float most = -std::numeric_limits<float>::infinity();
  for (uint32_t i = 0; i < count; ++i) most = std::max(most, row[i]);
  float sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    row[i] = std::exp2(row[i] - most);
    sum += row[i];
  }
  auto* halves = reinterpret_cast<uint8_t*>(row);  // a half is written after its float was read
  for (uint32_t i = 0; i < PackedSteps(kBf16, count) * 2; ++i) {
    const uint16_t half = i < count ? FloatToBFloat(row[i] / sum) : 0;
    std::memcpy(halves + size_t{2} * i, &half, sizeof(half));
  }
}

uint64_t PackedHeadFloats(uint32_t tokens, uint32_t head_dim) {
  return PackedKeyDwords(tokens, head_dim) + PackedValueDwords(tokens, head_dim) +
         kPackedQueries * (PackedStride(kBf16, head_dim) + RoundUp(tokens, kPanelWidth));
}

void AttendPacked(const PackedHead& head, float* scratch) {
  const uint32_t tokens = head.keys.rows;
  const uint32_t dim = head.keys.ins;
  assert(tokens > 0 && dim > 0 && head.values.rows == tokens && head.values.ins == dim);
  auto* keys = reinterpret_cast<uint32_t*>(scratch);
  uint32_t* values = keys + PackedKeyDwords(tokens, dim);
  PackedRows queries{.data = values + PackedValueDwords(tokens, dim),
                     .stride = PackedStride(kBf16, dim)};
  auto* scores = reinterpret_cast<float*>(queries.data + kPackedQueries * queries.stride);
  const PackedRows weights{.data = reinterpret_cast<uint32_t*>(scores),
                           .stride = RoundUp(tokens, kPanelWidth)};
  PackKeys(head.keys, keys);
  PackValues(head.values, values);
  const float unit = std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(dim));
  const uint32_t blocks = (head.rows + kPackedQueries - 1) / kPackedQueries;
  uint32_t row = 0;
  for (uint32_t block = 0; block < blocks; ++block) {  // of nearly equal height
    const uint32_t rows = (head.rows - row) / (blocks - block);
    float* from = head.queries + row * head.query_stride;
    PackRows(kBf16, {from, head.query_stride, rows, dim}, nullptr, queries);
    MultiplyAll(queries, rows, PackedSteps(kBf16, dim), keys, unit, scores, weights.stride, tokens);
    for (uint32_t r = 0; r < rows; ++r) SoftmaxPacked(scores + r * weights.stride, tokens);
    if (head.received != nullptr) AddWeights(weights, rows, tokens, head.received);
    MultiplyAll(weights, rows, PackedSteps(kBf16, tokens), values, 1, from, head.query_stride, dim);
    row += rows;
  }
}

}  // namespace sti
