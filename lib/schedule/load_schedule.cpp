#include "schedule/load_schedule.h"

#include <algorithm>
#include <tuple>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/shard_codec.h"
#include "io/container_file.h"
#include "schedule/read_ring.h"

namespace sti {
namespace {

/// What may merge: one group's parts for one memory, of one urgency.
auto ClassOf(const StagedPart& part) {
  return std::tuple(part.group, part.refinement, part.landing == Landing::kArena);
}

/// A read of this part alone. In the buffer the blocks around it have their place already.
StagedRead ReadOf(const StagedPart& part, uint32_t index) {
  StagedRead read;
  read.offset = RoundDown(part.part.offset, kBlockBytes);
  read.length = RoundUp(part.part.offset + part.part.length, kBlockBytes) - read.offset;
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
bool Merge(const StagedRead& next, uint64_t most_bytes, StagedRead& last) {
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
  std::stable_sort(
      schedule.parts.begin(), schedule.parts.end(), [](const StagedPart& a, const StagedPart& b) {
        return std::tuple(ClassOf(a), a.part.offset) < std::tuple(ClassOf(b), b.part.offset);
      });
  for (uint32_t i = 0; i < schedule.parts.size(); ++i) {
    const StagedRead read = ReadOf(schedule.parts[i], i);
    const bool may_merge = i > 0 && ClassOf(schedule.parts[i - 1]) == ClassOf(schedule.parts[i]);
    if (may_merge && Merge(read, most_bytes, schedule.reads.back())) continue;
    schedule.reads.push_back(read);
  }
}

/// The reads that share one ring: all bases, or all refinements.
class RingReads {
 public:
  RingReads(LoadSchedule& schedule, bool refinement) {
    for (StagedRead& read : schedule.reads) {
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
  void Add(StagedRead& read) {
    if (reads_.empty() || reads_.back()->group != read.group) {
      starts_.push_back(reads_.size());
      group_ = 0;
    }
    reads_.push_back(&read);
    total_ += read.length;
    group_ += read.length;
    largest_ = std::max(largest_, group_);
  }

  std::vector<StagedRead*> reads_;
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
                           " bytes of staging, more than the memory given; raise --memory");
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
  schedule.places.assign(schedule.requests.size(), {-1, -1, -1, -1, -1, -1});
  for (const StagedRead& read : schedule.reads) {
    for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
      StagedPart& part = schedule.parts[i];
      part.place = read.place + (part.part.offset - read.offset);
      if (part.kind != kResidentPart) schedule.places[part.request][part.kind] = i;
    }
  }
}

std::string PartName(const LoadSchedule& schedule, const StagedPart& part) {
  if (part.kind == kResidentPart) {
    return part.request == kHeadOfModel ? ResidentName(ResidentKind::kHead, 0)
                                        : ResidentName(ResidentKind::kLayer, part.request);
  }
  const ShardRequest& request = schedule.requests[part.request];
  return ShardPartName(request.layer, request.slice, part.kind);
}

}  // namespace

Result<LoadSchedule> ScheduleParts(std::span<const ShardRequest> requests,
                                   std::span<const StagedPart> parts,
                                   const ScheduleLimits& limits) {
  LoadSchedule schedule;
  schedule.requests.assign(requests.begin(), requests.end());
  schedule.parts.assign(parts.begin(), parts.end());
  CollectReads(limits.read_bytes, schedule);
  for (const StagedRead& read : schedule.reads) schedule.read_bytes += read.length;
  STI_RETURN_IF_ERROR(PlaceReads(limits, schedule));
  PlaceParts(schedule);
  return schedule;
}

Result<LoadSchedule> BuildLoadSchedule(const ContainerIndex& index,
                                       std::span<const ShardRequest> requests,
                                       const ScheduleLimits& limits) {
  std::vector<StagedPart> parts;
  parts.reserve(requests.size() * kShardPartKinds);
  for (uint32_t i = 0; i < requests.size(); ++i) {
    const ShardRequest& request = requests[i];
    const ShardLocation& shard = index.shard(request.layer, request.slice);
    for (uint32_t kind = 0; kind < kShardPartKinds; ++kind) {
      if (!HasPart(request.bits, kind)) continue;
      StagedPart part;
      part.part = shard.parts[kind];
      part.request = i;
      part.kind = kind;
      part.group = request.group;
      parts.push_back(part);
    }
  }
  return ScheduleParts(requests, parts, limits);
}

Status CheckStagedRead(const LoadSchedule& schedule, const StagedRead& read,
                       std::span<const uint8_t> memory, const std::string& file) {
  for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
    const StagedPart& part = schedule.parts[i];
    auto bytes = memory.subspan(part.place, part.part.length);
    if (Checksum(bytes) == part.part.checksum) continue;
    return CheckPart(part.part, bytes, file, PartName(schedule, part));
  }
  return {};
}

Result<ShardView> ViewStagedShard(const ContainerIndex& index, const LoadSchedule& schedule,
                                  size_t request, std::span<const uint8_t> arena,
                                  const std::string& file) {
  std::array<std::span<const uint8_t>, kShardPartKinds> parts;
  for (uint32_t kind = 0; kind < kShardPartKinds; ++kind) {
    int64_t at = schedule.places[request][kind];
    if (at < 0) continue;
    const StagedPart& part = schedule.parts[static_cast<size_t>(at)];
    parts[kind] = arena.subspan(part.place, part.part.length);
  }
  const ShardRequest& wanted = schedule.requests[request];
  return ViewShard(index.info, index.centroids[wanted.layer], wanted.bits, parts, file);
}

}  // namespace sti
