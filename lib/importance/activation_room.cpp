#include "importance/activation_room.h"

#include <algorithm>

namespace sti {
namespace {

// Beyond it decoding weights is next to nothing, and activations leave the cache.
constexpr uint32_t kMaxRows = 1024;

}  // namespace

ActivationRoom::ActivationRoom(LayerRunner& runner, std::span<const ExampleBatch> chunks,
                               size_t branch_count, uint64_t limit_bytes)
    : shape_(runner.shape()),
      head_(runner.index().info.head),
      head_values_(runner.head_values()),
      lengths_(LengthsOf(chunks)),
      branch_count_(branch_count) {
  for (const ExampleBatch& chunk : chunks) {
    chunk_tokens_ = std::max<uint64_t>(chunk_tokens_, chunk.ids.size());
  }
  const auto bytes_of = [&](uint32_t rows) {
    return runner.Reserve(rows) + Floats(rows) * sizeof(float);
  };
  // Upwards, so that trying takes no more than the bound and a step.
  rows_ = lengths_.longest;
  bytes_ = least_bytes_ = bytes_of(rows_);
  while (rows_ < kMaxRows) {
    const uint32_t more = std::min(kMaxRows, rows_ + std::max(rows_ / 8, 8U));
    const uint64_t needed = bytes_of(more);
    if (needed > limit_bytes) break;
    rows_ = more;
    bytes_ = needed;
  }
  bytes_ = bytes_of(rows_);
  const uint64_t inputs_bytes = shape_.layers * chunk_tokens_ * shape_.hidden * sizeof(float);
  holds_inputs_ = bytes_ + inputs_bytes <= limit_bytes;
  if (holds_inputs_) bytes_ += inputs_bytes;
  Take();
}

uint32_t ActivationRoom::Sequences(uint32_t rows) const { return rows / lengths_.shortest; }

uint32_t ActivationRoom::Wanted(uint32_t rows) const {
  return head_.rows() == OutputRows::kAll ? rows : Sequences(rows);
}

uint32_t ActivationRoom::Results(uint32_t rows) const {
  return head_.output == HeadOutput::kTokenLabels ? rows : Sequences(rows);
}

uint64_t ActivationRoom::Floats(uint32_t rows) const {
  const uint64_t all = uint64_t{rows} * shape_.hidden;
  return (3 + branch_count_) * all + uint64_t{rows} * shape_.head_dim() +
         uint64_t{2} * Wanted(rows) * shape_.hidden + uint64_t{Results(rows)} * head_values_ +
         3 * kReadPastEnd;
}

void ActivationRoom::Take() {
  const size_t all = size_t{rows_} * shape_.hidden;
  const size_t wanted_rows = Wanted(rows_);
  base.resize(all);
  contexts.resize(all + kReadPastEnd);
  own_context.resize(size_t{rows_} * shape_.head_dim() + kReadPastEnd);
  hidden.resize(all);
  last_context.resize(wanted_rows * shape_.hidden + kReadPastEnd);
  wanted.resize(wanted_rows * shape_.hidden);
  values.resize(size_t{Results(rows_)} * head_values_);
  branches.assign(branch_count_, std::vector<float>(all));
  if (!holds_inputs_) return;
  inputs.assign(shape_.layers, std::vector<float>(chunk_tokens_ * shape_.hidden));
}

std::vector<SequenceRange> ActivationRoom::Split(const ExampleBatch& chunk) const {
  std::vector<SequenceRange> ranges;
  const uint32_t each = chunk.sequences_each();
  for (uint32_t e = 0; e < chunk.examples(); ++e) {
    const uint32_t end = each * (e + 1);
    const bool fits =
        !ranges.empty() && chunk.offsets[end] - chunk.offsets[ranges.back().first] <= rows_;
    if (!fits) ranges.push_back({end - each, 0});
    ranges.back().count += each;
  }
  return ranges;
}

}  // namespace sti
