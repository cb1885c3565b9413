#include "schedule/load_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "support/expect.h"
#include "support/random.h"
#include "types/plan.h"

namespace sti {
namespace {

// An index of nothing but shard locations: parts one behind the other, `gap` bytes apart, each
// shard beginning on a block.
ContainerIndex IndexOf(uint32_t layers, uint32_t width, uint64_t base_bytes, uint64_t plane_bytes) {
  ContainerIndex index;
  index.info.shape.layers = layers;
  index.info.shape.width = width;
  index.bits = {2, 3, 4, 5, 6, 32};
  uint64_t next = kBlockBytes;
  for (uint32_t i = 0; i < layers * width; ++i) {
    ShardLocation shard;
    next = RoundUp(next, kBlockBytes);
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      const uint64_t length = bits == 2 ? base_bytes : plane_bytes;
      shard.parts[PartAt(bits)] = {next, length, 0};
      next += RoundUp(length, 64);
    }
    next = RoundUp(next, kBlockBytes);
    shard.parts[PartKind::kFull] = {next, plane_bytes * 16, 0};
    next += plane_bytes * 16;
    index.shards.push_back(shard);
  }
  return index;
}

std::vector<ShardRequest> AllOf(const ContainerIndex& index, uint32_t bits) {
  std::vector<ShardRequest> requests;
  for (uint32_t layer = 0; layer < index.info.shape.layers; ++layer) {
    for (uint32_t slice = 0; slice < index.info.shape.width; ++slice) {
      requests.push_back({{layer, slice}, bits, layer});
    }
  }
  return requests;
}

std::vector<ShardRequest> RandomRequests(const ContainerIndex& index, TestRandom& random) {
  auto requests = AllOf(index, 2);
  for (ShardRequest& request : requests) request.bits = 2 + static_cast<uint32_t>(random.Below(5));
  for (ShardRequest& request : requests) {
    if (random.Below(10) == 0) request.bits = kFullBits;
  }
  std::erase_if(requests, [&](const ShardRequest&) { return random.Below(4) == 0; });
  return requests;
}

bool Overlap(const ScheduledRead& a, const ScheduledRead& b) {
  return a.place < b.place + b.length && b.place < a.place + a.length;
}

uint64_t LargestGroup(const LoadSchedule& schedule) {
  std::vector<uint64_t> bytes(1000);
  for (const ScheduledRead& read : schedule.reads) bytes[read.group] += read.length;
  return *std::max_element(bytes.begin(), bytes.end());
}

// Expects what must hold of every schedule, whatever its arena.
void ExpectSound(const ContainerIndex& index, const std::vector<ShardRequest>& requests,
                 const LoadSchedule& schedule) {
  uint64_t total = 0;
  for (size_t i = 0; i < schedule.reads.size(); ++i) {
    const ScheduledRead& read = schedule.reads[i];
    ASSERT_EQ((read.offset | read.length | read.place) % kBlockBytes, 0U);
    ASSERT_LE(read.place + read.length, schedule.arena_bytes);
    ASSERT_LE(read.after, read.group) << "a read waits for its own layer";
    total += read.length;
    for (size_t j = 0; j < i; ++j) {
      const ScheduledRead& earlier = schedule.reads[j];
      ASSERT_LE(earlier.group, read.group);
      ASSERT_LE(earlier.after, read.after);
      if (Overlap(earlier, read)) {
        ASSERT_GT(read.after, earlier.group) << "overwrites a layer that is not computed";
      }
    }
  }
  EXPECT_EQ(schedule.read_bytes, total);
  ASSERT_EQ(schedule.places.size(), requests.size());
  size_t expected_parts = 0;
  for (size_t r = 0; r < requests.size(); ++r) {
    const ShardLocation& shard = index.shard(requests[r].id);
    for (const PartKind kind : kPartKinds) {
      const bool full = requests[r].bits == kFullBits;
      const bool wanted = full ? kind == PartKind::kFull
                               : kind != PartKind::kFull && BitsOf(kind) <= requests[r].bits;
      const std::optional<uint32_t> place = schedule.places[r][kind];
      ASSERT_EQ(place.has_value(), wanted);
      if (!wanted) continue;
      ++expected_parts;
      const uint32_t at = *place;
      const ScheduledPart& part = schedule.parts[at];
      ASSERT_EQ(part.part.offset, shard.parts[kind].offset);
      const auto read = std::find_if(
          schedule.reads.begin(), schedule.reads.end(), [&](const ScheduledRead& candidate) {
            return at >= candidate.first_part && at < candidate.first_part + candidate.parts;
          });
      ASSERT_NE(read, schedule.reads.end());
      ASSERT_EQ(read->group, requests[r].group);
      ASSERT_GE(part.part.offset, read->offset);
      ASSERT_LE(part.part.offset + part.part.length, read->offset + read->length);
      ASSERT_EQ(part.place - read->place, part.part.offset - read->offset);
    }
  }
  EXPECT_EQ(schedule.parts.size(), expected_parts);
}

TEST(LoadSchedule, NothingToLoad) {
  const ContainerIndex index = IndexOf(2, 2, 1000, 300);
  const auto schedule = BuildLoadSchedule(index, {});
  ASSERT_TRUE(Succeeded(schedule));
  EXPECT_EQ(schedule->arena_bytes, 0U);
  EXPECT_TRUE(schedule->reads.empty());
}

TEST(LoadSchedule, PlanesOfAShardAreOneReadOfAPrefix) {
  const ContainerIndex index = IndexOf(1, 3, 5000, 3000);
  const std::vector<ShardRequest> requests{{{0, 1}, 4, 0}};
  const auto schedule = BuildLoadSchedule(index, requests);
  ASSERT_TRUE(Succeeded(schedule));
  ASSERT_EQ(schedule->reads.size(), 1U);
  EXPECT_EQ(schedule->reads[0].offset, index.shard({0, 1}).parts[PartKind::kBase].offset);
  EXPECT_EQ(schedule->reads[0].length, 3 * kBlockBytes);  // 5056 + 3008 + 3000 bytes
  EXPECT_EQ(schedule->reads[0].parts, 3U);
  ExpectSound(index, requests, *schedule);
}

TEST(LoadSchedule, NeighboursMergeUpToTheLimit) {
  // Each shard's planes are exactly 64 blocks, and without full parts they touch.
  ContainerIndex index = IndexOf(1, 12, 32 * kBlockBytes, 8 * kBlockBytes);
  uint64_t next = kBlockBytes;
  for (ShardLocation& shard : index.shards) {
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      shard.parts[PartAt(bits)].offset = next;
      next += shard.parts[PartAt(bits)].length;
    }
  }
  const auto requests = AllOf(index, 6);
  const auto schedule = BuildLoadSchedule(index, requests, {.read_bytes = uint64_t{1} << 20});
  ASSERT_TRUE(Succeeded(schedule));
  EXPECT_EQ(schedule->reads.size(), 3U);
  for (const ScheduledRead& read : schedule->reads) EXPECT_LE(read.length, uint64_t{1} << 20);
  EXPECT_EQ(schedule->read_bytes, 12 * 64 * kBlockBytes);
  ExpectSound(index, requests, *schedule);
}

TEST(LoadSchedule, ASharedBlockIsReadOnce) {
  ContainerIndex index = IndexOf(1, 2, 1000, 300);
  index.shards[1].parts[PartKind::kBase].offset =
      index.shards[0].parts[PartKind::kBase].offset + 1024;
  const auto schedule = BuildLoadSchedule(index, AllOf(index, 2));
  ASSERT_TRUE(Succeeded(schedule));
  EXPECT_EQ(schedule->reads.size(), 1U);
  EXPECT_EQ(schedule->read_bytes, kBlockBytes);
}

TEST(LoadSchedule, WithoutALimitEveryReadMayStartAtOnce) {
  TestRandom random(1);
  const ContainerIndex index = IndexOf(6, 4, 9000, 4608);
  const auto requests = RandomRequests(index, random);
  const auto schedule = BuildLoadSchedule(index, requests);
  ASSERT_TRUE(Succeeded(schedule));
  ExpectSound(index, requests, *schedule);
  EXPECT_EQ(schedule->arena_bytes, schedule->read_bytes);
  for (const ScheduledRead& read : schedule->reads) EXPECT_EQ(read.after, 0U);
}

// Every arena from the largest layer up must do, and none may overwrite what is still needed.
TEST(LoadSchedule, EveryArenaThatHoldsTheLargestLayerIsEnough) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    TestRandom random(seed);
    const ContainerIndex index = IndexOf(5, 3, 4096 + random.Below(9000), 512 + random.Below(6000));
    const auto requests = RandomRequests(index, random);
    const auto whole = BuildLoadSchedule(index, requests);
    ASSERT_TRUE(Succeeded(whole));
    const uint64_t largest = LargestGroup(*whole);
    for (uint64_t limit = largest; limit < whole->read_bytes + 3 * kBlockBytes;
         limit += kBlockBytes) {
      const auto schedule = BuildLoadSchedule(index, requests, {limit + seed});
      ASSERT_TRUE(Succeeded(schedule)) << "seed " << seed << " limit " << limit;
      EXPECT_LE(schedule->arena_bytes, limit + seed);
      ExpectSound(index, requests, *schedule);
      if (::testing::Test::HasFatalFailure()) return;
    }
    if (largest == 0) continue;
    EXPECT_TRUE(FailedWith(BuildLoadSchedule(index, requests, {largest - 1}),
                           ErrorKind::kInfeasible,
                           " staging, 1 more than the memory given leaves"));
    EXPECT_TRUE(FailedWith(BuildLoadSchedule(index, requests, {1}), ErrorKind::kInfeasible));
  }
}

TEST(LoadSchedule, AnArenaOfTwoLayersReadsAhead) {
  const ContainerIndex index = IndexOf(4, 2, kBlockBytes, 512);
  const auto requests = AllOf(index, 2);
  const auto schedule = BuildLoadSchedule(index, requests, {4 * kBlockBytes});
  ASSERT_TRUE(Succeeded(schedule));
  for (const ScheduledRead& read : schedule->reads) {
    EXPECT_EQ(read.after, read.group < 2 ? 0 : read.group - 1);
  }
}

// Marks the planes above the base as what can be left out.
Result<LoadSchedule> ScheduleApart(const ContainerIndex& index,
                                   const std::vector<ShardRequest>& requests,
                                   const ScheduleLimits& limits) {
  STI_ASSIGN_OR_RETURN(const LoadSchedule whole, BuildLoadSchedule(index, requests));
  std::vector<ScheduledPart> parts = whole.parts;
  for (ScheduledPart& part : parts) part.refinement = !IsEssential(*part.kind);
  return ScheduleParts(requests, parts, limits);
}

bool Brings(const ScheduledRead& read, const ScheduledPart& part) {
  return part.part.offset < read.offset + read.length &&
         part.part.offset + part.part.length > read.offset;
}

// Refinements cost no byte and no memory more than without a way to leave them out.
TEST(LoadSchedule, RefinementsAreCutOffAtBlocks) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    TestRandom random(seed);
    const ContainerIndex index = IndexOf(4, 3, 100 + random.Below(20000), 64 + random.Below(14000));
    const auto requests = RandomRequests(index, random);
    const auto whole = BuildLoadSchedule(index, requests);
    ASSERT_TRUE(Succeeded(whole));
    ScheduleLimits limits;
    if (seed % 2 == 0) limits.arena_bytes = LargestGroup(*whole) + random.Below(40) * kBlockBytes;
    const auto apart = ScheduleApart(index, requests, limits);
    ASSERT_TRUE(Succeeded(apart));
    EXPECT_EQ(apart->read_bytes, whole->read_bytes);
    EXPECT_LE(apart->arena_bytes, whole->arena_bytes);
    uint64_t bytes = 0;
    std::vector<uint32_t> brought(apart->parts.size());
    for (size_t i = 0; i < apart->reads.size(); ++i) {
      const ScheduledRead& read = apart->reads[i];
      bytes += read.length;
      EXPECT_LE(read.after, read.group);
      const ScheduledRead* before = i > 0 ? &apart->reads[i - 1] : nullptr;
      EXPECT_FALSE(before != nullptr && before->group == read.group &&
                   before->refinement == read.refinement &&
                   before->offset + before->length == read.offset &&
                   before->place + before->length == read.place && seed % 2 == 1)
          << "cut for nothing";
      for (uint32_t p = 0; p < apart->parts.size(); ++p) {
        const ScheduledPart& part = apart->parts[p];
        const bool listed = p >= read.first_part && p < read.first_part + read.parts;
        EXPECT_EQ(listed, Brings(read, part));
        if (!listed) continue;
        ++brought[p];
        EXPECT_EQ(part.place - part.part.offset, read.place - read.offset);
        EXPECT_TRUE(part.refinement || !read.refinement);
      }
    }
    EXPECT_EQ(bytes, apart->read_bytes);
    for (uint32_t p = 0; p < apart->parts.size(); ++p) {
      EXPECT_EQ(brought[p], apart->parts[p].reads);
      EXPECT_TRUE(apart->parts[p].refinement || brought[p] == 1);
      EXPECT_LE(brought[p], 3);
    }
  }
}

}  // namespace
}  // namespace sti
