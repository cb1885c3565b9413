#include "model/attention.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/checked.h"
#include "kernels/elementwise.h"
#include "kernels/gemm.h"
#include "kernels/lowp_attention.h"
#include "model/batch.h"
#include "shard/weight_order.h"

namespace sti {
namespace {

// Columns [column, column + width) of a row-major matrix as panels.
void SetPanels(const float* data, size_t stride, PanelProduct* product) {
  product->panels[0] = {data, stride};
  product->panels[1] = {data + kPanelWidth, stride};
}

// Returns where the tokens of the sequence that begins at `begin` have what they receive in a head.
float* ReceivedBy(const AttentionInput& in, uint32_t head, uint32_t begin) {
  return in.received + size_t{head} * in.offsets.back() + begin;
}

// `rows` queries from row `first` on, of one head of the sequence [begin, end). What a query does
// not attend to has a weight of 0, so that its sums have the bits that they have without it.
void AttendBlock(const AttentionInput& in, uint32_t head, uint32_t begin, uint32_t end,
                 uint32_t first, uint32_t rows, float* scores) {
  const bool masked = in.causal && !in.one_row;
  const uint32_t length = masked ? in.past + first + rows - begin : end - begin;
  const uint32_t column = head * in.head_dim;
  const size_t stride = RoundUp(length, kPanelWidth);
  float* queries = in.queries + first * in.query_stride + column;
  PanelProduct product;
  product.rows = rows;
  product.a = queries;
  product.a_stride = in.query_stride;
  product.ins = in.head_dim;
  product.c_stride = stride;
  product.start = kFromZero;
  for (uint32_t key = 0; key < length; key += kTileWidth) {
    SetPanels(in.keys + column * in.key_stride + begin + key, in.key_stride, &product);
    product.c = scores + key;
    product.width = std::min(kTileWidth, length - key);
    MultiplyPanels(product);
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(in.head_dim));
  for (uint32_t r = 0; r < rows; ++r) {
    const uint32_t seen = masked ? length - rows + r + 1 : length;
    SoftmaxRow(scores + r * stride, seen, scale);
    std::fill_n(scores + r * stride + seen, length - seen, 0.0F);
  }
  if (in.received != nullptr) {
    float* received = ReceivedBy(in, head, begin);
    for (uint32_t r = 0; r < rows; ++r) {
      for (uint32_t key = 0; key < length; ++key) received[key] += scores[r * stride + key];
    }
  }
  product.a = scores;
  product.a_stride = stride;
  product.ins = length;
  product.c_stride = in.query_stride;
  for (uint32_t out = 0; out < in.head_dim; out += kTileWidth) {
    SetPanels(in.values + begin * in.value_stride + column + out, in.value_stride, &product);
    product.c = queries + out;
    product.width = std::min(kTileWidth, in.head_dim - out);
    MultiplyPanels(product);
  }
}

// The same in bfloat16.
void AttendPackedBlock(const AttentionInput& in, uint32_t head, uint32_t begin, uint32_t end,
                       uint32_t first, uint32_t rows, float* scratch) {
  const uint32_t column = head * in.head_dim;
  const auto rows_of = [&](const float* data, size_t stride) {
    return RowsRef{data + begin * stride + column, stride, end - begin, in.head_dim};
  };
  AttendPacked({.queries = in.queries + first * in.query_stride + column,
                .query_stride = in.query_stride,
                .rows = rows,
                .keys = rows_of(in.keys, in.key_stride),
                .values = rows_of(in.values, in.value_stride),
                .received = in.received != nullptr ? ReceivedBy(in, head, begin) : nullptr},
               scratch);
}

// Queries that a task takes. Each task packs keys and values anew, so a head is one task unless
// threads would have too few to share out evenly.
uint32_t PackedBlock(uint32_t longest, uint32_t heads, uint32_t threads) {
  const uint32_t wanted = threads == 1 ? 1 : (4 * threads + heads - 1) / heads;
  return std::max(kPackedQueries, (longest + wanted - 1) / wanted);
}

}  // namespace

uint64_t AttentionScratch(uint32_t length) { return RoundUp(length, kPanelWidth) * kQueryBlock; }

uint64_t PackedAttentionScratch(uint32_t length, uint32_t head_dim) {
  return PackedHeadFloats(length, head_dim);
}

void Attend(const AttentionInput& input, ThreadPool& pool, float* scratch,
            uint64_t scratch_stride) {
  assert(!input.offsets.empty() && input.head_dim > 0);
  assert(!input.causal || (!input.packed && input.received == nullptr));
  assert(input.past == 0 || (input.causal && input.offsets.size() == 2));
  assert(input.query_stride >= size_t{input.heads} * input.head_dim);
  assert(input.value_stride >= size_t{input.heads} * input.head_dim);
  // One index space for all sequences: the longest decides, and shorter ones skip the rest.
  const uint32_t longest = Batch{input.offsets}.longest();
  assert(scratch_stride >= (input.packed ? PackedAttentionScratch(longest, input.head_dim)
                                         : AttentionScratch(longest)));
  const auto attend = input.packed ? AttendPackedBlock : AttendBlock;
  const auto sequences = static_cast<uint32_t>(input.offsets.size() - 1);
  const uint32_t threads = input.received != nullptr ? 1 : pool.threads();
  const uint32_t block_rows =
      input.packed ? PackedBlock(longest, sequences * input.heads, threads) : kQueryBlock;
  const uint32_t rows = longest - input.past;
  const uint32_t blocks = input.one_row ? 1 : (rows + block_rows - 1) / block_rows;
  // Sums of weights have one order where all queries of a head are one task.
  const uint32_t tasks = input.received != nullptr ? 1 : blocks;
  pool.ParallelFor(sequences * input.heads * tasks, [&](uint32_t index, uint32_t worker) {
    const uint32_t task = index % tasks;
    const uint32_t head = index / tasks % input.heads;
    const uint32_t sequence = index / tasks / input.heads;
    const uint32_t begin = input.offsets[sequence];
    const uint32_t end = input.offsets[sequence + 1];
    float* own = scratch + worker * scratch_stride;
    if (input.received != nullptr) std::fill_n(ReceivedBy(input, head, begin), end - begin, 0.0f);
    if (input.one_row) return attend(input, head, begin, end, sequence, 1, own);
    const uint32_t last_row = end - input.past;
    const uint32_t last = tasks == blocks ? begin + (task + 1) * block_rows : last_row;
    for (uint32_t first = begin + task * block_rows; first < std::min(last, last_row);
         first += block_rows)
      attend(input, head, begin, end, first, std::min(block_rows, last_row - first), own);
  });
}

}  // namespace sti
