#include "kernels/lowp/activations.h"

#include <algorithm>
#include <cassert>

#include "base/aligned_buffer.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr uint32_t kBlockRows = 16;  // of a packing task
// Scaled for Q, for K and for V; and as it is, for shards of full fidelity among the others.
constexpr uint32_t kLayerInputs = 4;

uint64_t RoomForRows(uint32_t rows, size_t dwords) {
  return Carver::Room<uint32_t>(dwords) + Carver::Room<float>(rows) + Carver::Room<int32_t>(rows);
}

PackedRows TakeRows(Carver& carver, uint32_t rows, size_t dwords) {
  PackedRows packed;
  packed.data = carver.Take<uint32_t>(dwords);
  packed.scales = carver.Take<float>(rows);
  packed.starts = carver.Take<int32_t>(rows);
  return packed;
}

uint64_t RoomForInput(ComputeType type, uint32_t rows, uint32_t ins) {
  return RoomForRows(kFusedRows, LeadingDwords(type, ins)) +
         RoomForRows(rows, rows * PackedStride(type, ins));
}

PackedInput TakeInput(Carver& carver, ComputeType type, uint32_t rows, uint32_t ins) {
  PackedInput input;
  input.leading = TakeRows(carver, kFusedRows, LeadingDwords(type, ins));
  input.leading.stride = kLeadingStride;
  input.leading.chunk = kLeadingChunk;
  input.rows = TakeRows(carver, rows, rows * PackedStride(type, ins));
  input.rows.stride = PackedStride(type, ins);
  return input;
}

// The packed rows from `row` on.
PackedRows RowsFrom(const PackedRows& packed, uint32_t row) {
  PackedRows from = packed;
  from.data += row * packed.stride;
  from.scales += row;
  from.starts += row;
  return from;
}

RowsRef InputOf(const LinearTerm& term, uint32_t first, uint32_t rows) {
  return {term.in + first * term.in_stride, term.in_stride, rows, term.matrix.ins};
}

const float* InputScales(const LinearTerm& term) {
  const ShardView& shard = *term.shard;
  const bool scaled = shard.scales != nullptr && shard.bits != kFullBits;
  return scaled && !term.matrix.scaled_by_output ? shard.scales + term.matrix.scales : nullptr;
}

bool ReadSameRows(const LinearTerm& a, const LinearTerm& b) {
  return a.in == b.in && a.in_stride == b.in_stride && a.matrix.ins == b.matrix.ins &&
         InputScales(a) == InputScales(b);
}

}  // namespace

uint64_t PackedActivations::RoomFor(ComputeType type, const LinearLimits& limits) {
  const uint64_t of_layer = kLayerInputs * RoomForInput(type, limits.rows, limits.ins);
  const uint64_t summed = limits.terms * RoomForInput(type, limits.rows, limits.summed_ins);
  return std::max(of_layer, summed);
}

void PackedActivations::Reserve(const LinearLimits& limits) {
  entries_.clear();
  entries_.reserve(std::max(kLayerInputs, limits.terms));
  buffer_.Renew(RoomFor(type_, limits));
}

uint32_t PackedActivations::FusedRowsOf(const LinearTerm& term) const {
  return fusing_ && CanFusePacked(type_, *term.shard, term.matrix) ? FusedRows(rows_) : 0;
}

const PackedActivations::Entry* PackedActivations::Find(const LinearTerm& term) const {
  for (const Entry& entry : entries_) {
    if (ReadSameRows(*entry.term, term) && entry.input.fused == FusedRowsOf(term)) return &entry;
  }
  return nullptr;
}

// False if there is no room for all of them.
bool PackedActivations::Add(std::span<const LinearTerm> terms) {
  for (const LinearTerm& term : terms) {
    if (Find(term) != nullptr) continue;
    const uint64_t room = RoomForInput(type_, rows_, term.matrix.ins);
    if (entries_.size() == entries_.capacity() || buffer_.size() - used_ < room) return false;
    Carver carver(buffer_.data() + used_);
    entries_.push_back({&term, TakeInput(carver, type_, rows_, term.matrix.ins)});
    entries_.back().input.fused = FusedRowsOf(term);
    used_ += room;
  }
  return true;
}

// The first block has the leading rows, each of the others as many as fit it of the rest.
void PackedActivations::PackBlock(const Entry& entry, uint32_t block) const {
  const PackedInput& input = entry.input;
  const LinearTerm& term = *entry.term;
  const float* scales = InputScales(term);
  if (block == 0) return PackRows(type_, InputOf(term, 0, input.fused), scales, input.leading);
  const uint32_t row = (block - 1) * kBlockRows;
  if (row >= rows_ - input.fused) return;
  const uint32_t count = std::min(kBlockRows, rows_ - input.fused - row);
  PackRows(type_, InputOf(term, input.fused + row, count), scales, RowsFrom(input.rows, row));
}

size_t PackedActivations::Pack(uint32_t rows, std::span<const LinearSum> groups, bool fusing) {
  rows_ = rows;
  fusing_ = fusing;
  used_ = 0;
  entries_.clear();
  size_t count = 0;
  while (count < groups.size() && Add(groups[count].terms)) ++count;
  assert(count > 0);  // there is room for any one group
  const uint32_t blocks = 1 + (rows + kBlockRows - 1) / kBlockRows;
  pool_.ParallelFor(static_cast<uint32_t>(entries_.size()) * blocks,
                    [&](uint32_t i, uint32_t) { PackBlock(entries_[i / blocks], i % blocks); });
  return count;
}

const PackedInput& PackedActivations::Of(const LinearTerm& term) const {
  const Entry* entry = Find(term);
  assert(entry != nullptr);
  return entry->input;
}

}  // namespace sti
