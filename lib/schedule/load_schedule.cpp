#include "schedule/load_schedule.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <tuple>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/remedy.h"
#include "format/shard_codec.h"

namespace sti {
namespace {

// Hands out places in [0, bytes) in order, and remembers what each overwrites.
class ReadRing {
 public:
  explicit ReadRing(uint64_t bytes) : bytes_(bytes) {}

  // Sets `place` and `after` of the reads of one group, groups ascending, none larger than the
  // ring.
  void PlaceGroup(std::span<ScheduledRead* const> group);

 private:
  [[nodiscard]] bool Fits(std::span<ScheduledRead* const> group) const;
  void Place(ScheduledRead& read);

  uint64_t bytes_;
  uint64_t next_ = 0;
  uint32_t freed_ = 0;
  std::deque<ScheduledRead> live_;
};

bool Overlaps(const ScheduledRead& a, const ScheduledRead& b) {
  return a.place < b.place + b.length && b.place < a.place + a.length;
}

// A group may go around the ring's end, but not so far that it meets itself: a read that waits for
// its own layer to be computed would wait for ever. Such a group begins at the ring's start, where
// any group fits that is not larger than the ring.
void ReadRing::PlaceGroup(std::span<ScheduledRead* const> group) {
  if (!Fits(group)) next_ = 0;
  for (ScheduledRead* read : group) Place(*read);
}

bool ReadRing::Fits(std::span<ScheduledRead* const> group) const {
  uint64_t at = next_;
  bool around = false;
  for (const ScheduledRead* read : group) {
    around = around || at + read->length > bytes_;
    if (at + read->length > bytes_) at = 0;
    at += read->length;
    if (around && at > next_) return false;
  }
  return true;
}

void ReadRing::Place(ScheduledRead& read) {
  if (next_ + read.length > bytes_) next_ = 0;
  read.place = next_;
  while (!live_.empty() && Overlaps(live_.front(), read)) {
    freed_ = std::max(freed_, live_.front().group + 1);
    live_.pop_front();
  }
  // A read that wraps skips those near the ring's end, which are older still and stay in front.
  for (const ScheduledRead& other : live_) {
    if (Overlaps(other, read)) freed_ = std::max(freed_, other.group + 1);
  }
  std::erase_if(live_, [&](const ScheduledRead& other) { return Overlaps(other, read); });
  read.after = freed_;
  live_.push_back(read);
  next_ += read.length;
}

/// Returns the class of a part. Parts of a class may merge: one group's for one memory.
auto ClassOf(const ScheduledPart& part) {
  return std::tuple(part.group, part.landing == Landing::kArena);
}

/// Returns a read of this part alone. In the buffer the blocks around it have their place already.
ScheduledRead ReadOf(const ScheduledPart& part, uint32_t index) {
  ScheduledRead read;
  const BlockRange blocks = BlocksAround(part.part);
  read.offset = blocks.begin;
  read.length = blocks.bytes();
  if (part.landing == Landing::kBuffer) read.place = part.place - (part.part.offset - read.offset);
  read.group = part.group;
  read.first_part = index;
  read.parts = 1;
  read.landing = part.landing;
  return read;
}

/// Joins `next` to `last` if they share a block, or touch while the read stays small. A buffer that
/// has them elsewhere keeps them apart.
bool Merge(const ScheduledRead& next, uint64_t most_bytes, ScheduledRead& last) {
  const uint64_t end = last.offset + last.length;
  const uint64_t next_end = next.offset + next.length;
  const bool shares = next.offset < end;
  const bool touches = next.offset == end && next_end - last.offset <= most_bytes;
  const bool in_place =
      last.landing == Landing::kArena || next.place - last.place == next.offset - last.offset;
  if ((!shares && !touches) || !in_place) return false;
  last.length = std::max(end, next_end) - last.offset;
  ++last.parts;
  return true;
}

void CollectReads(uint64_t most_bytes, LoadSchedule& schedule) {
  std::stable_sort(schedule.parts.begin(), schedule.parts.end(),
                   [](const ScheduledPart& a, const ScheduledPart& b) {
                     return std::tuple(ClassOf(a), a.part.offset) <
                            std::tuple(ClassOf(b), b.part.offset);
                   });
  for (uint32_t i = 0; i < schedule.parts.size(); ++i) {
    const ScheduledRead read = ReadOf(schedule.parts[i], i);
    const bool may_merge = i > 0 && ClassOf(schedule.parts[i - 1]) == ClassOf(schedule.parts[i]);
    if (may_merge && Merge(read, most_bytes, schedule.reads.back())) continue;
    schedule.reads.push_back(read);
  }
}

using ReadGroup = std::vector<ScheduledRead*>;

/// Returns the reads that land in the arena, group by group.
std::vector<ReadGroup> ArenaReads(LoadSchedule& schedule) {
  std::vector<ReadGroup> groups;
  for (ScheduledRead& read : schedule.reads) {
    if (read.landing != Landing::kArena) continue;
    if (groups.empty() || groups.back().front()->group != read.group) groups.emplace_back();
    groups.back().push_back(&read);
  }
  return groups;
}

uint64_t BytesOf(const ReadGroup& group) {
  uint64_t bytes = 0;
  for (const ScheduledRead* read : group) bytes += read->length;
  return bytes;
}

/// Places the reads that land in the arena.
Status PlaceReads(const ScheduleLimits& limits, LoadSchedule& schedule) {
  const std::vector<ReadGroup> groups = ArenaReads(schedule);
  uint64_t total = 0;
  uint64_t least = 0;
  for (const ReadGroup& group : groups) {
    total += BytesOf(group);
    least = std::max(least, BytesOf(group));
  }
  const uint64_t limit = RoundDown(limits.arena_bytes, kBlockBytes);
  schedule.arena_bytes = limits.arena_bytes == 0 ? total : std::min(total, limit);
  if (limits.grow) schedule.arena_bytes = std::max(schedule.arena_bytes, least);
  if (least > schedule.arena_bytes) {
    return InfeasibleError("one layer of the plan needs " + std::to_string(least) +
                           " bytes of staging, " + std::to_string(least - limits.arena_bytes) +
                           " more than the memory given leaves")
        .Fix(Remedy::kMoreMemory);
  }
  ReadRing ring(schedule.arena_bytes);
  for (const ReadGroup& group : groups) ring.PlaceGroup(group);
  return {};
}

void PlaceParts(LoadSchedule& schedule) {
  schedule.places.assign(schedule.requests.size(), {});
  for (const ScheduledRead& read : schedule.reads) {
    for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
      ScheduledPart& part = schedule.parts[i];
      part.place = read.place + (part.part.offset - read.offset);
      if (part.kind) schedule.places[part.request][*part.kind] = i;
    }
  }
}

/// Returns a read of the blocks [begin, end) of `whole`.
ScheduledRead PieceOf(const ScheduledRead& whole, uint64_t begin, uint64_t end, bool refinement) {
  ScheduledRead piece = whole;
  piece.offset = begin;
  piece.length = end - begin;
  piece.place = whole.place + (begin - whole.offset);
  piece.refinement = refinement;
  return piece;
}

/// Cuts `whole` where blocks without which its group cannot be computed and blocks of refinements
/// alone follow each other.
std::vector<ScheduledRead> PiecesOf(const LoadSchedule& schedule, const ScheduledRead& whole) {
  std::vector<ScheduledRead> pieces;
  uint64_t at = whole.offset;  // pieces reach up to here
  const auto add = [&](uint64_t end, bool refinement) {
    if (end <= at) return;
    if (!pieces.empty() && pieces.back().refinement == refinement) {
      pieces.back().length += end - at;
    } else {
      pieces.push_back(PieceOf(whole, at, end, refinement));
    }
    at = end;
  };
  for (const ScheduledPart& part : schedule.PartsOf(whole)) {
    if (part.refinement) continue;
    const BlockRange blocks = BlocksAround(part.part);
    add(blocks.begin, true);
    add(blocks.end, false);
  }
  add(whole.offset + whole.length, true);
  return pieces;
}

/// Notes which parts a piece of the read `whole` brings something of.
void FindParts(const ScheduledRead& whole, std::vector<ScheduledPart>& parts,
               ScheduledRead& piece) {
  piece.parts = 0;
  for (uint32_t i = whole.first_part; i < whole.first_part + whole.parts; ++i) {
    const PartLocation& part = parts[i].part;
    const bool overlaps =
        part.offset < piece.offset + piece.length && part.offset + part.length > piece.offset;
    if (!overlaps) continue;
    if (piece.parts++ == 0) piece.first_part = i;
    ++parts[i].reads;
  }
}

/// Cuts reads so that their refinements can be left out.
void SetRefinementsApart(LoadSchedule& schedule) {
  if (std::ranges::none_of(schedule.parts, &ScheduledPart::refinement)) return;
  std::vector<ScheduledRead> pieces;
  pieces.reserve(2 * schedule.reads.size());
  for (ScheduledPart& part : schedule.parts) part.reads = 0;
  for (const ScheduledRead& whole : schedule.reads) {
    for (ScheduledRead& piece : PiecesOf(schedule, whole)) {
      FindParts(whole, schedule.parts, piece);
      pieces.push_back(piece);
    }
  }
  schedule.reads = std::move(pieces);
}

std::string PartName(const LoadSchedule& schedule, const ScheduledPart& part) {
  if (!part.kind) {
    return part.layer ? ResidentName(ResidentKind::kLayer, *part.layer)
                      : ResidentName(ResidentKind::kHead, 0);
  }
  const ShardRequest& request = schedule.requests[part.request];
  return ShardPartName(request.id, *part.kind);
}

}  // namespace

Result<LoadSchedule> ScheduleParts(std::span<const ShardRequest> requests,
                                   std::span<const ScheduledPart> parts,
                                   const ScheduleLimits& limits) {
  LoadSchedule schedule;
  schedule.requests.assign(requests.begin(), requests.end());
  schedule.parts.assign(parts.begin(), parts.end());
  schedule.piece_bytes =
      std::max(ScheduleLimits::kLeastPieceBytes, RoundDown(limits.read_bytes, kBlockBytes));
  CollectReads(limits.read_bytes, schedule);
  for (const ScheduledRead& read : schedule.reads) schedule.read_bytes += read.length;
  STI_RETURN_IF_ERROR(PlaceReads(limits, schedule));
  PlaceParts(schedule);
  SetRefinementsApart(schedule);
  return schedule;
}

Result<LoadSchedule> BuildLoadSchedule(const ContainerIndex& index,
                                       std::span<const ShardRequest> requests,
                                       const ScheduleLimits& limits) {
  std::vector<ScheduledPart> parts;
  parts.reserve(requests.size() * kPartKinds.size());
  for (uint32_t i = 0; i < requests.size(); ++i) {
    const ShardRequest& request = requests[i];
    const ShardLocation& shard = index.shard(request.id);
    for (const PartKind kind : kPartKinds) {
      if (!PartSet::For(request.bits).Has(kind)) continue;
      ScheduledPart part;
      part.part = shard.parts[kind];
      part.request = i;
      part.kind = kind;
      part.group = request.group;
      parts.push_back(part);
    }
  }
  return ScheduleParts(requests, parts, limits);
}

Status CheckScheduledPart(const LoadSchedule& schedule, const ScheduledPart& part,
                          std::span<const uint8_t> memory, const std::string& file) {
  const auto bytes = memory.subspan(part.place, part.part.length);
  if (Checksum(bytes) == part.part.checksum) return {};
  return CheckPart(part.part, bytes, file, PartName(schedule, part));
}

Result<ShardView> ViewScheduledShard(const ContainerIndex& index, const LoadSchedule& schedule,
                                     size_t request, uint32_t bits, const HeldParts& held,
                                     const PartMemory& memory, const std::string& file) {
  const ShardRequest& shard = schedule.requests[request];
  PerPart<std::span<const uint8_t>> parts;
  for (const PartKind kind : kPartKinds) {
    if (!PartSet::For(bits).Has(kind)) continue;
    const uint64_t length = index.shard(shard.id).parts[kind].length;
    if (held.held.Has(kind)) {
      parts[kind] = memory.buffer.subspan(held.places[kind], length);
      continue;
    }
    const ScheduledPart& part = schedule.parts[*schedule.places[request][kind]];
    const bool in_buffer = part.landing == Landing::kBuffer;
    parts[kind] = (in_buffer ? memory.buffer : memory.arena).subspan(part.place, length);
  }
  return ViewShard(index.info, index.centroids[shard.id.layer], bits, parts, file);
}

}  // namespace sti
