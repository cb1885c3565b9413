#include "io/load_schedule.h"

#include <algorithm>
#include <deque>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "format/shard_codec.h"
#include "io/container_file.h"

namespace sti {
namespace {

// Larger reads gain nothing on any flash measured, and delay the first shard of a layer.
constexpr uint64_t kMaxMergedBytes = uint64_t{1} << 20;

// Parts of one group in file order, gathered into reads. A part that shares a block with the read
// before it must join it; one that merely touches joins while the read is small.
void CollectReads(std::vector<StagedPart> parts, uint32_t group, LoadSchedule& schedule) {
  std::sort(parts.begin(), parts.end(),
            [](const StagedPart& a, const StagedPart& b) { return a.part.offset < b.part.offset; });
  size_t first_read = schedule.reads.size();
  for (const StagedPart& part : parts) {
    uint64_t begin = RoundDown(part.part.offset, kBlockBytes);
    uint64_t end = RoundUp(part.part.offset + part.part.length, kBlockBytes);
    StagedRead* last = schedule.reads.size() > first_read ? &schedule.reads.back() : nullptr;
    bool shares = last != nullptr && begin < last->offset + last->length;
    bool touches = last != nullptr && begin == last->offset + last->length &&
                   end - last->offset <= kMaxMergedBytes;
    if (shares || touches) {
      last->length = std::max(last->length, end - last->offset);
      ++last->parts;
    } else {
      auto at = static_cast<uint32_t>(schedule.parts.size());
      schedule.reads.push_back({begin, end - begin, 0, group, 0, at, 1});
    }
    schedule.parts.push_back(part);
  }
}

// Hands out places in a ring, oldest first, and remembers what each overwrites.
class Ring {
 public:
  explicit Ring(uint64_t bytes) : bytes_(bytes) {}

  // A group may go around the ring's end, but not so far that it meets itself: a read that waits
  // for its own layer to be computed would wait for ever. Such a group begins at the ring's start,
  // where any group fits that is not larger than the ring.
  void PlaceGroup(std::span<StagedRead> group) {
    if (!Fits(group)) next_ = 0;
    for (StagedRead& read : group) Place(read);
  }

 private:
  [[nodiscard]] bool Fits(std::span<const StagedRead> group) const {
    uint64_t at = next_;
    bool around = false;
    for (const StagedRead& read : group) {
      around = around || at + read.length > bytes_;
      if (at + read.length > bytes_) at = 0;
      at += read.length;
      if (around && at > next_) return false;
    }
    return true;
  }

  void Place(StagedRead& read) {
    if (next_ + read.length > bytes_) next_ = 0;
    read.place = next_;
    while (!live_.empty() && Overlaps(live_.front(), read)) {
      freed_ = std::max(freed_, live_.front().group + 1);
      live_.pop_front();
    }
    // What lies between the ring's end and a wrapped read is older still.
    for (const StagedRead& other : live_) {
      if (Overlaps(other, read)) freed_ = std::max(freed_, other.group + 1);
    }
    std::erase_if(live_, [&](const StagedRead& other) { return Overlaps(other, read); });
    read.after = freed_;
    live_.push_back(read);
    next_ += read.length;
  }

  static bool Overlaps(const StagedRead& a, const StagedRead& b) {
    return a.place < b.place + b.length && b.place < a.place + a.length;
  }

  uint64_t bytes_;
  uint64_t next_ = 0;
  uint32_t freed_ = 0;
  std::deque<StagedRead> live_;
};

uint64_t LargestGroup(const LoadSchedule& schedule) {
  uint64_t largest = 0;
  uint64_t bytes = 0;
  for (size_t i = 0; i < schedule.reads.size(); ++i) {
    if (i > 0 && schedule.reads[i].group != schedule.reads[i - 1].group) bytes = 0;
    bytes += schedule.reads[i].length;
    largest = std::max(largest, bytes);
  }
  return largest;
}

void PlaceReads(LoadSchedule& schedule) {
  Ring ring(schedule.arena_bytes);
  std::span<StagedRead> reads(schedule.reads);
  while (!reads.empty()) {
    size_t count = 1;
    while (count < reads.size() && reads[count].group == reads[0].group) ++count;
    ring.PlaceGroup(reads.first(count));
    reads = reads.subspan(count);
  }
}

void PlaceParts(LoadSchedule& schedule) {
  schedule.places.assign(schedule.requests.size(), {-1, -1, -1, -1, -1, -1});
  for (const StagedRead& read : schedule.reads) {
    for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
      StagedPart& part = schedule.parts[i];
      part.place = read.place + (part.part.offset - read.offset);
      schedule.places[part.request][part.kind] = i;
    }
  }
}

}  // namespace

Result<LoadSchedule> BuildLoadSchedule(const ContainerIndex& index,
                                       std::span<const ShardRequest> requests,
                                       uint64_t arena_limit) {
  LoadSchedule schedule;
  schedule.requests.assign(requests.begin(), requests.end());
  std::vector<StagedPart> parts;
  for (uint32_t i = 0; i < requests.size(); ++i) {
    const ShardRequest& request = requests[i];
    const ShardLocation& shard = index.shard(request.layer, request.slice);
    bool whole = request.bits <= kMaxCodeBits;
    for (uint32_t kind = 0; kind < kShardPartKinds; ++kind) {
      bool wanted = whole ? ShardPartBits(kind) <= request.bits : kind == kShardPartKinds - 1;
      if (wanted) parts.push_back({shard.parts[kind], 0, i, kind});
    }
    if (i + 1 == requests.size() || requests[i + 1].group != request.group) {
      CollectReads(std::move(parts), request.group, schedule);
      parts.clear();
    }
  }
  for (const StagedRead& read : schedule.reads) schedule.read_bytes += read.length;
  schedule.arena_bytes = schedule.read_bytes;
  if (arena_limit != 0) {
    schedule.arena_bytes = std::min(schedule.arena_bytes, RoundDown(arena_limit, kBlockBytes));
  }
  if (LargestGroup(schedule) > schedule.arena_bytes) {
    return InfeasibleError("one layer of the plan needs " + std::to_string(LargestGroup(schedule)) +
                           " bytes of staging, more than the memory given; raise --memory");
  }
  PlaceReads(schedule);
  PlaceParts(schedule);
  return schedule;
}

Status CheckStagedRead(const LoadSchedule& schedule, const StagedRead& read,
                       std::span<const uint8_t> arena, const std::string& file) {
  for (uint32_t i = read.first_part; i < read.first_part + read.parts; ++i) {
    const StagedPart& part = schedule.parts[i];
    const ShardRequest& request = schedule.requests[part.request];
    auto bytes = arena.subspan(part.place, part.part.length);
    if (Checksum(bytes) == part.part.checksum) continue;
    return CheckPart(part.part, bytes, file,
                     ShardPartName(request.layer, request.slice, part.kind));
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
