// The preload buffer holds the shards that stay in memory (STI 5.4), shared by all routes of a
// pipeline.
//
// Every shard that a plan may ever hold has its place from the start, for each of its parts; only
// what is held occupies memory. So a shard grows by its missing planes where it lies, and gives its
// pages back at once when it is evicted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/page_space.h"
#include "base/result.h"
#include "format/container_index.h"
#include "schedule/load_schedule.h"
#include "types/plan.h"

namespace sti {

/// Holds shards, each at its place. One thread at a time; what is read into span() belongs to the
/// reader meanwhile.
class PreloadBuffer {
 public:
  PreloadBuffer() = default;
  /// Gives places to the shards of `plan`, at the most bits that it or a turn of it runs, to those
  /// of its cascade levels, and to those of its fallback and its variants' fallbacks, which once
  /// held are never evicted. FindPlanFault finds no fault in the plan.
  PreloadBuffer(const ContainerIndex& index, const Plan& plan);

  /// Returns the parts held of a shard; none of one that has no place here.
  [[nodiscard]] PartSet Held(ShardId id) const;
  /// Returns the parts held of a shard, and the offset in span() of each.
  [[nodiscard]] HeldParts HeldPartsOf(ShardId id) const;
  /// Returns where a part of a shard is, or will be, in span(); it has a place.
  [[nodiscard]] uint64_t Place(ShardId id, PartKind kind) const;
  [[nodiscard]] bool HasPlace(ShardId id, PartKind kind) const;
  [[nodiscard]] std::span<uint8_t> span() { return space_.span(); }
  [[nodiscard]] std::span<const uint8_t> span() const { return space_.span(); }

  /// Notes parts that have been read into their places.
  void Add(ShardId id, PartSet parts);
  /// Keeps what it holds and will hold in memory, as LockMemory does. Where that is refused the
  /// buffer works as before, and lock_refusal() says why.
  void Lock();
  [[nodiscard]] const Status& lock_refusal() const { return lock_refusal_; }
  /// Evicts all parts but those that `shards` and the fallbacks need at their bits. Where `shards`
  /// has a shard several times, the parts of the most bits stay.
  void KeepOnly(std::span<const ShardAtBits> shards);
  /// Copies the parts that `other` holds of `shards`, and of the fallbacks of this buffer, to their
  /// places here. `other` evicts of these shards what its own fallbacks do not need.
  void TakeFrom(PreloadBuffer& other, std::span<const ShardAtBits> shards);

  /// Returns the bytes that the held parts occupy, in whole blocks, as they were read.
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  /// Returns the bytes that the parts of fallbacks occupy once they are held.
  [[nodiscard]] uint64_t pinned_bytes() const;
  /// Returns the bytes that a shard would occupy.
  static uint64_t BytesOf(const ContainerIndex& index, const ShardAtBits& shard);

 private:
  struct Entry {
    ShardLocation location;
    ShardId id;
    HeldParts held;
    PartSet placed;
    PartSet pinned;      ///< parts that a fallback needs
    PartSet stays;       ///< parts that NoteStays was told to keep, pinned ones included
    uint64_t first = 0;  ///< first byte of its places in the space
    uint64_t size = 0;
  };
  [[nodiscard]] const Entry* Find(ShardId id) const;
  [[nodiscard]] Entry* Find(ShardId id);
  [[nodiscard]] size_t IndexOf(ShardId id) const { return size_t{id.layer} * width_ + id.slice; }
  void AddShards(const ContainerIndex& index, const PlanCore& plan,
                 std::span<const PlanTurn> turns);
  void AddEntry(const ContainerIndex& index, ShardId id, PartSet parts, bool pinned);
  static uint64_t PlaceParts(Entry& entry, uint64_t next);
  static uint64_t BlocksOf(const ShardLocation& location, PartSet parts);
  void SetHeld(Entry& entry, PartSet parts);
  /// Sets Entry::stays for `shards` and fallbacks, and to what is pinned for all others.
  void NoteStays(std::span<const ShardAtBits> shards);
  void Free(uint64_t begin, uint64_t end);
  void GiveBackFreed();
  void LockHeld(const Entry& entry);

  uint32_t width_ = 0;
  std::vector<Entry> entries_;
  std::vector<int32_t> at_;  ///< [layers * width] index into entries_, or -1
  PageSpace space_;
  /// The bytes [freed_begin_, freed_end_) are free and not given back yet: so the system is asked
  /// once for shards that lie side by side.
  uint64_t freed_begin_ = 0;
  uint64_t freed_end_ = 0;
  uint64_t bytes_ = 0;
  bool locks_ = false;
  Status lock_refusal_;
};

}  // namespace sti
