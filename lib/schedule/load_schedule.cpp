#include "schedule/load_schedule.h"

#include <algorithm>
#include <tuple>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/remedy.h"
#include "format/shard_codec.h"
#include "schedule/read_ring.h"

namespace sti {
namespace {

/// Returns the class of a part. Parts of a class may merge: one group's for one memory, of one
/// urgency.
auto ClassOf(const ScheduledPart& part) {
  return std::tuple(part.group, part.refinement, part.landing == Landing::kArena);
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
  read.refinement = part.refinement;
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

/// The reads that share one ring: all bases, or all refinements.
class RingReads {
 public:
  RingReads(LoadSchedule& schedule, bool refinement) {
    for (ScheduledRead& read : schedule.reads) {
      if (read.landing == Landing::kArena && read.refinement == refinement) Add(read);
    }
  }
  [[nodiscard]] uint64_t total() const { return total_; }
  [[nodiscard]] uint64_t largest_group() const { return largest_; }

  void Place(uint64_t first, uint64_t bytes) const {
    ReadRing ring(first, bytes);
    for (size_t g = 0; g < starts_.size(); ++g) {
      const size_t end = g + 1 < starts_.size() ? starts_[g + 1] : reads_.size();
      ring.PlaceGroup(std::span(reads_).subspan(starts_[g], end - starts_[g]));
    }
  }

 private:
  void Add(ScheduledRead& read) {
    if (reads_.empty() || reads_.back()->group != read.group) {
      starts_.push_back(reads_.size());
      group_ = 0;
    }
    reads_.push_back(&read);
    total_ += read.length;
    group_ += read.length;
    largest_ = std::max(largest_, group_);
  }

  std::vector<ScheduledRead*> reads_;
  std::vector<size_t> starts_;  ///< of groups
  uint64_t total_ = 0;
  uint64_t group_ = 0;
  uint64_t largest_ = 0;
};

/// Shares the arena out between the rings in proportion to what goes through them.
Status PlaceReads(const ScheduleLimits& limits, LoadSchedule& schedule) {
  const RingReads bases(schedule, false);
  const RingReads refinements(schedule, true);
  const uint64_t total = bases.total() + refinements.total();
  const uint64_t least = bases.largest_group() + refinements.largest_group();
  const uint64_t limit = RoundDown(limits.arena_bytes, kBlockBytes);
  schedule.arena_bytes = limits.arena_bytes == 0 ? total : std::min(total, limit);
  if (limits.grow) schedule.arena_bytes = std::max(schedule.arena_bytes, least);
  if (least > schedule.arena_bytes) {
    return InfeasibleError("one layer of the plan needs " + std::to_string(least) +
                           " bytes of staging, more than the memory given")
        .Fix(Remedy::kMoreMemory);
  }
  const uint64_t spare = schedule.arena_bytes - least;
  const uint64_t growth = total - least;
  uint64_t bases_bytes = bases.total();
  if (spare < growth) {
    const double share =
        static_cast<double>(bases.total() - bases.largest_group()) / static_cast<double>(growth);
    const auto grown = static_cast<uint64_t>(share * static_cast<double>(spare));
    bases_bytes = bases.largest_group() + RoundDown(grown, kBlockBytes);
  }
  bases.Place(0, bases_bytes);
  refinements.Place(bases_bytes, schedule.arena_bytes - bases_bytes);
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
  CollectReads(limits.read_bytes, schedule);
  for (const ScheduledRead& read : schedule.reads) schedule.read_bytes += read.length;
  STI_RETURN_IF_ERROR(PlaceReads(limits, schedule));
  PlaceParts(schedule);
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

Status CheckScheduledRead(const LoadSchedule& schedule, const ScheduledRead& read,
                          std::span<const uint8_t> memory, const std::string& file) {
  for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
    const ScheduledPart& part = schedule.parts[i];
    auto bytes = memory.subspan(part.place, part.part.length);
    if (Checksum(bytes) == part.part.checksum) continue;
    return CheckPart(part.part, bytes, file, PartName(schedule, part));
  }
  return {};
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
