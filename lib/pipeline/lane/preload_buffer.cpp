#include "pipeline/lane/preload_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "schedule/load_schedule.h"

namespace sti {
namespace {

template <typename Visit>
void ForEachKind(PartSet parts, Visit visit) {
  for (const PartKind kind : kPartKinds) {
    if (parts.Has(kind)) visit(kind);
  }
}

}  // namespace

PreloadBuffer::PreloadBuffer(const ContainerIndex& index, const Plan& plan)
    : width_(index.info.shape.width), at_(size_t{index.info.shape.layers} * width_, -1) {
  entries_.reserve(plan.layers.size() * plan.width);
  AddShards(index, plan, plan.turns);
  if (plan.cascade) {
    for (const CascadeLevel& level : plan.cascade->levels) AddShards(index, level.plan, {});
  }
  const auto add_fallback = [&](const PlanCore& one) {
    if (!one.fallback) return;
    for (const ShardAtBits& shard : ShardsOf(*one.fallback))
      AddEntry(index, shard.id, PartSet::For(shard.bits), true);
  };
  add_fallback(plan);
  for (const PlanCore& variant : plan.variants) add_fallback(variant);
  uint64_t next = 0;
  for (Entry& entry : entries_) next = PlaceParts(entry, next);
  space_ = PageSpace(next);
}

void PreloadBuffer::AddShards(const ContainerIndex& index, const PlanCore& plan,
                              std::span<const PlanTurn> turns) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      PartSet parts = PartSet::For(plan.bits.At(k, i));
      for (const PlanTurn& turn : turns) parts = parts.With(PartSet::For(turn.bits.At(k, i)));
      AddEntry(index, plan.Id(k, i), parts, false);
    }
  }
}

void PreloadBuffer::AddEntry(const ContainerIndex& index, ShardId id, PartSet parts, bool pinned) {
  Entry* entry = Find(id);
  if (entry == nullptr) {
    at_[IndexOf(id)] = static_cast<int32_t>(entries_.size());
    entry = &entries_.emplace_back();
    entry->id = id;
    entry->location = index.shard(id);
  }
  entry->placed = entry->placed.With(parts);
  if (pinned) entry->pinned = entry->pinned.With(parts);
}

// Blocks that follow each other in the file do so here; a page is never shared by two shards.
uint64_t PreloadBuffer::PlaceParts(Entry& entry, uint64_t next) {
  entry.first = RoundUp(next, PageSpace::PageBytes());
  next = entry.first;
  BlockRange last;
  ForEachKind(entry.placed, [&](PartKind kind) {
    const PartLocation& part = entry.location.parts[kind];
    const BlockRange blocks = BlocksAround(part);
    const bool follows =
        next > entry.first && blocks.begin <= last.end && blocks.begin >= last.begin;
    const uint64_t begin =
        follows ? next - (last.end - blocks.begin) : RoundUp(next, PageSpace::PageBytes());
    entry.held.places[kind] = begin + (part.offset - blocks.begin);
    next = std::max(next, begin + (blocks.end - blocks.begin));
    last = {follows ? last.begin : blocks.begin, std::max(follows ? last.end : 0, blocks.end)};
  });
  // Whole pages, so that the last one goes with the rest where it is larger than a block.
  next = RoundUp(next, PageSpace::PageBytes());
  entry.size = next - entry.first;
  return next;
}

const PreloadBuffer::Entry* PreloadBuffer::Find(ShardId id) const {
  if (at_.empty()) return nullptr;
  const int32_t at = at_[IndexOf(id)];
  return at < 0 ? nullptr : &entries_[static_cast<size_t>(at)];
}

PreloadBuffer::Entry* PreloadBuffer::Find(ShardId id) {
  return const_cast<Entry*>(std::as_const(*this).Find(id));
}

PartSet PreloadBuffer::Held(ShardId id) const {
  const Entry* entry = Find(id);
  return entry == nullptr ? PartSet() : entry->held.held;
}

HeldParts PreloadBuffer::HeldPartsOf(ShardId id) const {
  const Entry* entry = Find(id);
  return entry == nullptr ? HeldParts() : entry->held;
}

bool PreloadBuffer::HasPlace(ShardId id, PartKind kind) const {
  const Entry* entry = Find(id);
  return entry != nullptr && entry->placed.Has(kind);
}

uint64_t PreloadBuffer::Place(ShardId id, PartKind kind) const {
  return Find(id)->held.places[kind];
}

uint64_t PreloadBuffer::BlocksOf(const ShardLocation& location, PartSet parts) {
  uint64_t bytes = 0;
  uint64_t end = 0;
  ForEachKind(parts, [&](PartKind kind) {
    const BlockRange blocks = BlocksAround(location.parts[kind]);
    const bool shares = bytes > 0 && blocks.begin < end && blocks.end >= end;
    bytes += blocks.end - (shares ? end : blocks.begin);
    end = blocks.end;
  });
  return bytes;
}

uint64_t PreloadBuffer::pinned_bytes() const {
  uint64_t bytes = 0;
  for (const Entry& entry : entries_) bytes += BlocksOf(entry.location, entry.pinned);
  return bytes;
}

uint64_t PreloadBuffer::BytesOf(const ContainerIndex& index, const ShardAtBits& shard) {
  return BlocksOf(index.shard(shard.id), PartSet::For(shard.bits));
}

void PreloadBuffer::Add(ShardId id, PartSet parts) {
  Entry* entry = Find(id);
  if (entry == nullptr || entry->held.held.Has(parts)) return;
  PartSet& held = entry->held.held;
  bytes_ -= BlocksOf(entry->location, held);
  held = held.With(parts.Within(entry->placed));
  bytes_ += BlocksOf(entry->location, held);
  if (locks_) LockHeld(*entry);
}

void PreloadBuffer::Lock() {
  locks_ = true;
  for (const Entry& entry : entries_) LockHeld(entry);
}

void PreloadBuffer::LockHeld(const Entry& entry) {
  ForEachKind(entry.held.held, [&](PartKind kind) {
    if (!lock_refusal_.ok()) return;
    lock_refusal_ = space_.Lock(entry.held.places[kind], entry.location.parts[kind].length);
  });
}

// Pages go that no remaining part needs.
void PreloadBuffer::SetHeld(Entry& entry, PartSet parts) {
  PartSet& held = entry.held.held;
  if (parts == held) return;
  bytes_ = bytes_ - BlocksOf(entry.location, held) + BlocksOf(entry.location, parts);
  held = parts;
  uint64_t free_from = entry.first;
  const uint64_t end = entry.first + entry.size;
  while (free_from < end) {
    uint64_t next = end;      // where the next part that stays begins
    uint64_t next_end = end;  // and ends
    ForEachKind(parts, [&](PartKind kind) {
      const PartLocation& part = entry.location.parts[kind];
      const uint64_t begin = RoundDown(entry.held.places[kind], kBlockBytes);
      const uint64_t part_end = RoundUp(entry.held.places[kind] + part.length, kBlockBytes);
      if (part_end > free_from && begin < next) {
        next = begin;
        next_end = part_end;
      }
    });
    if (next > free_from) Free(free_from, next);
    free_from = std::max(next_end, free_from);
    if (next == end) break;
  }
}

void PreloadBuffer::Free(uint64_t begin, uint64_t end) {
  if (begin != freed_end_) {
    GiveBackFreed();
    freed_begin_ = begin;
  }
  freed_end_ = end;
}

void PreloadBuffer::GiveBackFreed() {
  if (freed_end_ > freed_begin_) space_.Discard(freed_begin_, freed_end_ - freed_begin_);
  freed_begin_ = freed_end_ = 0;
}

void PreloadBuffer::NoteStays(std::span<const ShardAtBits> shards) {
  for (Entry& entry : entries_) entry.stays = entry.pinned;
  for (const ShardAtBits& shard : shards) {
    if (Entry* entry = Find(shard.id)) entry->stays = entry->stays.With(PartSet::For(shard.bits));
  }
}

void PreloadBuffer::KeepOnly(std::span<const ShardAtBits> shards) {
  NoteStays(shards);
  for (Entry& entry : entries_) {
    const bool is_empty = entry.held.held.empty();
    if (is_empty && freed_end_ == entry.first && freed_end_ > freed_begin_)
      freed_end_ += entry.size;  // between two that become free
    SetHeld(entry, entry.held.held.Within(entry.stays));
  }
  GiveBackFreed();
}

void PreloadBuffer::TakeFrom(PreloadBuffer& other, std::span<const ShardAtBits> shards) {
  NoteStays(shards);
  for (const Entry& mine : entries_) {
    Entry* theirs = mine.stays.empty() ? nullptr : other.Find(mine.id);
    if (theirs == nullptr) continue;
    const PartSet parts = theirs->held.held.Within(mine.placed).Within(mine.stays);
    ForEachKind(parts, [&](PartKind kind) {
      std::memcpy(&space_.span()[mine.held.places[kind]],
                  &other.space_.span()[theirs->held.places[kind]],
                  mine.location.parts[kind].length);
    });
    Add(mine.id, parts);
    other.SetHeld(*theirs, theirs->held.held.Within(theirs->pinned));
    other.GiveBackFreed();
  }
}

}  // namespace sti
