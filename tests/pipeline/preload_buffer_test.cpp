#include "pipeline/lane/preload_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/checked.h"
#include "pipeline_world.h"

namespace sti {
namespace {

class PreloadBufferTest : public PipelineTest {
 protected:
  /// Bytes of the buffer that occupy memory, as the system counts in pages of its own.
  static uint64_t Resident(PreloadBuffer& buffer) {
    const auto page = static_cast<uint64_t>(::getpagesize());
    const auto space = buffer.span();
    std::vector<unsigned char> pages((space.size() + page - 1) / page);
    EXPECT_EQ(mincore(space.data(), space.size(), pages.data()), 0);
    return page * static_cast<uint64_t>(std::count_if(
                      pages.begin(), pages.end(), [](unsigned char p) { return (p & 1U) != 0; }));
  }
  /// As a read does: whole blocks.
  void Fill(PreloadBuffer& buffer, const ShardAtBits& shard) {
    for (const PartKind kind : kPartKinds) {
      if (!PartSet::For(shard.bits).Has(kind)) continue;
      const uint64_t place = buffer.Place(shard.id, kind);
      const uint64_t end = place + index_.shard(shard.id).parts[kind].length;
      for (uint64_t at = RoundDown(place, kBlockBytes); at < RoundUp(end, kBlockBytes); ++at)
        buffer.span()[at] = static_cast<uint8_t>(shard.id.layer * 16 + shard.id.slice + 1);
    }
    buffer.Add(shard.id, PartSet::For(shard.bits));
  }
};

TEST_F(PreloadBufferTest, OccupiesWhatItHoldsAndGivesTheRestBack) {
  Plan plan = WholeAt(6);
  SetRow(plan, 4, {32, 32, 2, 3});
  PreloadBuffer buffer(index_, plan);
  EXPECT_EQ(Resident(buffer), 0U);
  TestRandom random(11);
  std::vector<ShardAtBits> held;
  for (int step = 0; step < 200; ++step) {
    held.clear();
    for (uint32_t layer = 0; layer < 5; ++layer) {
      for (uint32_t slice = 0; slice < 4; ++slice) {
        if (random.Below(2) == 0) continue;
        const uint32_t most = plan.bits.At(layer, slice);
        held.push_back(
            {{layer, slice}, most == 32 ? 32 : 2 + static_cast<uint32_t>(random.Below(most - 1))});
      }
    }
    buffer.KeepOnly(held);
    for (const ShardAtBits& shard : held) Fill(buffer, shard);
    uint64_t expected = 0;
    for (const ShardAtBits& shard : held) expected += PreloadBuffer::BytesOf(index_, shard);
    ASSERT_EQ(buffer.bytes(), expected);
    if (PageSpace::PageBytes() == kBlockBytes) {
      ASSERT_EQ(Resident(buffer), expected);
    } else {  // what shares a page goes with the last of it
      ASSERT_GE(Resident(buffer), expected);
    }
    for (const ShardAtBits& shard : held) {
      ASSERT_EQ(buffer.Held(shard.id), PartSet::For(shard.bits));
      ASSERT_EQ(
          buffer
              .span()[buffer.Place(shard.id, shard.bits == 32 ? PartKind::kFull : PartKind::kBase)],
          shard.id.layer * 16 + shard.id.slice + 1)
          << "what stays is untouched";
    }
  }
  buffer.KeepOnly({});
  EXPECT_EQ(buffer.bytes(), 0U);
  EXPECT_EQ(Resident(buffer), 0U);
}

TEST_F(PreloadBufferTest, TheFirstShardIsGivenBackLikeAnyOther) {
  PreloadBuffer buffer(index_, WholeAt(6));
  Fill(buffer, {{0, 0}, 6});
  EXPECT_GT(Resident(buffer), 0U);
  buffer.KeepOnly({});
  EXPECT_EQ(Resident(buffer), 0U);
}

TEST_F(PreloadBufferTest, ShardsOfCascadeLevelsHavePlacesAtTheirBits) {
  Plan plan = WholeAt(4);
  plan.cascade.emplace();
  plan.cascade->levels = {{.plan = Mixed()}};
  plan.cascade->levels[0].plan.bits = {{5, 2, 32}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}};
  PreloadBuffer buffer(index_, plan);
  EXPECT_TRUE(buffer.HasPlace({0, 0}, PartKind::kPlane5));
  EXPECT_FALSE(buffer.HasPlace({0, 0}, PartKind::kPlane6));
  EXPECT_FALSE(buffer.HasPlace({0, 1}, PartKind::kPlane5));
  EXPECT_TRUE(buffer.HasPlace({0, 2}, PartKind::kPlane4));
  EXPECT_TRUE(buffer.HasPlace({0, 2}, PartKind::kFull));
  EXPECT_TRUE(buffer.HasPlace({1, 0}, PartKind::kPlane4)) << "of the plan alone";
  // A shard that is named twice keeps both; named once, it loses what is not said.
  Fill(buffer, {{0, 2}, 4});
  Fill(buffer, {{0, 2}, 32});
  const std::vector<ShardAtBits> both{{{0, 2}, 3}, {{0, 2}, 32}};
  buffer.KeepOnly(both);
  EXPECT_EQ(buffer.Held({0, 2}), PartSet::For(3).With(PartSet::For(32)));
  buffer.KeepOnly(std::span(both).first(1));
  EXPECT_EQ(buffer.Held({0, 2}), PartSet::For(3));
  EXPECT_EQ(buffer.bytes(), PreloadBuffer::BytesOf(index_, {{0, 2}, 3}));
}

TEST_F(PreloadBufferTest, PlacesAreApartAndAlignedAsTheFileIs) {
  const Plan plan = Mixed();
  PreloadBuffer buffer(index_, plan);
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      for (const PartKind kind : kPartKinds) {
        const bool placed = PartSet::For(plan.bits.At(k, i)).Has(kind);
        ASSERT_EQ(buffer.HasPlace(plan.Id(k, i), kind), placed);
        if (!placed) continue;
        const PartLocation& part = index_.shard(plan.Id(k, i)).parts[kind];
        const uint64_t place = buffer.Place(plan.Id(k, i), kind);
        EXPECT_EQ(place % kBlockBytes, part.offset % kBlockBytes);
        ASSERT_LE(place + part.length, buffer.span().size());
        ranges.emplace_back(place, place + part.length);
      }
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) EXPECT_LE(ranges[i - 1].second, ranges[i].first);
  EXPECT_TRUE(buffer.Held({1, 0}).empty()) << "a layer that the plan does not run";
  EXPECT_FALSE(buffer.HasPlace({1, 0}, PartKind::kBase));
}

TEST_F(PreloadBufferTest, AnotherBufferTakesOverWhatBothHave) {
  const Plan plan = WholeAt(6);
  PreloadBuffer before(index_, plan);
  const ShardAtBits at6{0, 1, 6};
  const ShardAtBits at3{0, 2, 3};
  Fill(before, at6);
  Fill(before, at3);
  PreloadBuffer after(index_, WholeAt(4));
  const std::vector<ShardAtBits> wanted{{0, 0, 4}, {0, 1, 4}, {0, 2, 4}};
  after.TakeFrom(before, wanted);
  EXPECT_TRUE(after.Held({0, 0}).empty());
  EXPECT_EQ(after.Held({0, 1}), PartSet::For(4));
  EXPECT_EQ(after.Held({0, 2}), PartSet::For(3));
  EXPECT_EQ(before.bytes(), 0U);
  EXPECT_EQ(after.span()[after.Place({0, 1}, PartKind::kBase)], 2);
  // A shard that only the other buffer has a place for stays there.
  const ShardAtBits layer1{1, 1, 4};
  Fill(after, layer1);
  PreloadBuffer fewer(index_, Mixed());  // without layer 1
  fewer.TakeFrom(after, std::vector<ShardAtBits>{layer1});
  EXPECT_EQ(fewer.bytes(), 0U);
  EXPECT_EQ(after.Held({1, 1}), PartSet::For(4));
}

}  // namespace
}  // namespace sti
