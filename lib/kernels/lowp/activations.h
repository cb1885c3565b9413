// Packed activations are the inputs of a linear map's terms, as low-precision products take them.
// Terms that read the same rows with the same scales share them. Scales belong to a layer's matrix,
// so one packed input serves Q in all slices, and so for K, V and FFN1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "kernels/lowp/panels.h"

namespace sti {

/// Holds the packed input of terms: its first `fused` rows in `leading`, all others in `rows`.
struct PackedInput {
  PackedRows leading;
  PackedRows rows;
  uint32_t fused = 0;
};

/// Packs the inputs of terms into one buffer. One thread at a time; the pool outlives it.
class PackedActivations {
 public:
  PackedActivations(ComputeType type, ThreadPool& pool) : type_(type), pool_(pool) {}

  /// Returns the bytes that Reserve takes.
  static uint64_t RoomFor(ComputeType type, const LinearLimits& limits);
  void Reserve(const LinearLimits& limits);
  /// Gives that room back. Pack needs it again.
  void Release() { buffer_ = AlignedBuffer(); }
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) { visit(buffer_); }
  /// Packs the activations of as many leading groups as the reserved buffer holds, and returns
  /// their number, at least 1. Call it again with the rest. `fusing`: leading rows may be
  /// multiplied while decoding.
  size_t Pack(uint32_t rows, std::span<const LinearSum> groups, bool fusing);
  /// Returns the packed input of a term of those groups. Thread-safe while nothing is packed.
  [[nodiscard]] const PackedInput& Of(const LinearTerm& term) const;
  [[nodiscard]] uint64_t bytes() const { return buffer_.size(); }

 private:
  struct Entry {
    const LinearTerm* term;  ///< the first term that has this input
    PackedInput input;
  };

  [[nodiscard]] uint32_t FusedRowsOf(const LinearTerm& term) const;
  [[nodiscard]] const Entry* Find(const LinearTerm& term) const;
  bool Add(std::span<const LinearTerm> terms);
  void PackBlock(const Entry& entry, uint32_t block) const;

  ComputeType type_;
  ThreadPool& pool_;
  AlignedBuffer buffer_;
  uint64_t used_ = 0;  ///< bytes of the buffer that are taken
  std::vector<Entry> entries_;
  uint32_t rows_ = 0;
  bool fusing_ = false;
};

}  // namespace sti
