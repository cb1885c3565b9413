#include "model/attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/checked.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"

namespace sti {
namespace {

constexpr uint32_t kPanel = 16;
constexpr uint32_t kPair = 2 * kPanel;

// Columns [column, column + width) of a row-major matrix as panels.
void SetPanels(const float* data, size_t stride, PanelProduct* product) {
  product->panels[0] = {data, stride};
  product->panels[1] = {data + kPanel, stride};
}

// `rows` queries from row `first` on, of one head of the sequence [begin, end).
void AttendBlock(const AttentionInput& in, uint32_t head, uint32_t begin, uint32_t end,
                 uint32_t first, uint32_t rows, float* scores) {
  const uint32_t length = end - begin;
  const uint32_t column = head * in.head_dim;
  const size_t stride = RoundUp(length, kPanel);
  float* queries = in.queries + first * in.query_stride + column;
  PanelProduct product;
  product.rows = rows;
  product.a = queries;
  product.a_stride = in.query_stride;
  product.ins = in.head_dim;
  product.c_stride = stride;
  product.start = kFromZero;
  for (uint32_t key = 0; key < length; key += kPair) {
    SetPanels(in.keys + column * in.key_stride + begin + key, in.key_stride, &product);
    product.c = scores + key;
    product.width = std::min(kPair, length - key);
    MultiplyPanels(product);
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(in.head_dim));
  for (uint32_t r = 0; r < rows; ++r) SoftmaxRow(scores + r * stride, length, scale);
  product.a = scores;
  product.a_stride = stride;
  product.ins = length;
  product.c_stride = in.query_stride;
  for (uint32_t out = 0; out < in.head_dim; out += kPair) {
    SetPanels(in.values + begin * in.value_stride + column + out, in.value_stride, &product);
    product.c = queries + out;
    product.width = std::min(kPair, in.head_dim - out);
    MultiplyPanels(product);
  }
}

}  // namespace

uint64_t AttentionScratch(uint32_t length) { return RoundUp(length, kPanel) * kQueryBlock; }

void Attend(const AttentionInput& input, ThreadPool& pool, float* scratch,
            uint64_t scratch_stride) {
  assert(!input.offsets.empty() && input.head_dim > 0);
  assert(input.query_stride >= size_t{input.heads} * input.head_dim);
  assert(input.value_stride >= size_t{input.heads} * input.head_dim);
  // One index space for all sequences: the longest decides, and shorter ones skip the rest.
  uint32_t longest = 0;
  for (size_t s = 0; s + 1 < input.offsets.size(); ++s) {
    longest = std::max(longest, input.offsets[s + 1] - input.offsets[s]);
  }
  assert(scratch_stride >= AttentionScratch(longest));
  const auto sequences = static_cast<uint32_t>(input.offsets.size() - 1);
  const uint32_t blocks = input.first_only ? 1 : (longest + kQueryBlock - 1) / kQueryBlock;
  pool.ParallelFor(sequences * input.heads * blocks, [&](uint32_t index, uint32_t worker) {
    const uint32_t block = index % blocks;
    const uint32_t head = index / blocks % input.heads;
    const uint32_t sequence = index / blocks / input.heads;
    const uint32_t begin = input.offsets[sequence];
    const uint32_t end = input.offsets[sequence + 1];
    if (input.first_only) {
      AttendBlock(input, head, begin, end, sequence, 1, scratch + worker * scratch_stride);
      return;
    }
    const uint32_t first = begin + block * kQueryBlock;
    if (first >= end) return;
    AttendBlock(input, head, begin, end, first, std::min(kQueryBlock, end - first),
                scratch + worker * scratch_stride);
  });
}

}  // namespace sti
