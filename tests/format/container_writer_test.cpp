#include "format/container_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "format/container_header.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"

namespace sti {
namespace {

class ContainerWriterTest : public ::testing::Test {
 protected:
  ShardReport Write(const std::string& name, const ShardOptions& options = {}) {
    auto report = WriteTinyContainer(folder_.File(name), {}, options);
    EXPECT_TRUE(Succeeded(report));
    return report.ok() ? *report : ShardReport{};
  }

  TempFolder folder_;
};

TEST_F(ContainerWriterTest, EveryPartLiesWhereTheIndexSaysAndHashesToItsChecksum) {
  for (const Layout layout : {Layout::kShard, Layout::kPlane}) {
    ShardOptions options;
    options.layout = layout;
    const ShardReport report = Write("a.sti", options);
    const auto bytes = FileBytes(folder_.File("a.sti"));
    ASSERT_EQ(bytes.size(), report.file_bytes);
    ASSERT_EQ(bytes.size() % kBlockBytes, 0U);
    std::vector<PartLocation> parts;
    for (const ShardLocation& shard : report.index.shards) {
      parts.insert(parts.end(), std::begin(shard.parts), std::end(shard.parts));
    }
    for (const ResidentLocation& resident : report.index.resident) {
      parts.push_back(resident.part);
    }
    for (const PartLocation& part : parts) {
      ASSERT_NE(part.length, 0U);
      EXPECT_EQ(Checksum(std::span(bytes).subspan(part.offset, part.length)), part.checksum);
    }
  }
}

TEST_F(ContainerWriterTest, EveryRowCarriesItsOwnSeededChecksum) {
  const ShardReport report = Write("a.sti");
  const auto bytes = FileBytes(folder_.File("a.sti"));
  for (const RowTable* table : {&report.index.words, &report.index.positions}) {
    EXPECT_EQ(table->row_bytes, 32U * 2 + 4);
    for (uint32_t row = 0; row < table->rows; ++row) {
      const uint8_t* at = &bytes[table->offset + uint64_t{row} * table->row_bytes];
      uint32_t stored = 0;
      std::memcpy(&stored, at + 64, 4);
      EXPECT_EQ(stored, static_cast<uint32_t>(Checksum({at, 64}, row)));
    }
  }
}

TEST_F(ContainerWriterTest, TheFileParsesToTheReportedIndex) {
  const ShardReport report = Write("a.sti");
  const auto bytes = FileBytes(folder_.File("a.sti"));
  const auto header = ParseContainerHeader(bytes, bytes.size(), "a.sti");
  ASSERT_TRUE(Succeeded(header));
  const auto encoded = std::span(bytes).subspan(header->index_offset, header->index_bytes);
  EXPECT_EQ(Checksum(encoded), header->index_checksum);
  const auto expected = EncodeContainerIndex(report.index);
  EXPECT_TRUE(std::equal(encoded.begin(), encoded.end(), expected.begin(), expected.end()));
}

TEST_F(ContainerWriterTest, ShardLayoutKeepsAShardTogether) {
  const ShardReport report = Write("a.sti");
  uint64_t reached = 0;
  for (const ShardLocation& shard : report.index.shards) {
    EXPECT_GE(shard.parts[PartKind::kBase].offset, reached) << "by layer, then by slice";
    const PartLocation& last = shard.parts[PartAt(6)];
    reached = last.offset + last.length;
    EXPECT_EQ(shard.parts[PartKind::kBase].offset % kBlockBytes, 0U);
    EXPECT_EQ(shard.parts[PartAt(kFullBits)].offset % kBlockBytes, 0U);
    for (uint32_t bits = 3; bits <= 6; ++bits) {
      const PartLocation& before = shard.parts[PartAt(bits - 1)];
      EXPECT_GE(shard.parts[PartAt(bits)].offset, before.offset + before.length);
      EXPECT_LT(shard.parts[PartAt(bits)].offset, before.offset + before.length + kPlaneAlignment);
    }
  }
}

TEST_F(ContainerWriterTest, PlaneLayoutKeepsAPlaneOfALayerTogether) {
  ShardOptions options;
  options.layout = Layout::kPlane;
  const ShardReport report = Write("a.sti", options);
  for (uint32_t layer = 0; layer < 2; ++layer) {
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      const PartKind part = PartAt(bits);
      const PartLocation& first = report.index.shard({layer, 0}).parts[part];
      const PartLocation& second = report.index.shard({layer, 1}).parts[part];
      EXPECT_EQ(first.offset % kBlockBytes, 0U);
      EXPECT_GE(second.offset, first.offset + first.length);
      EXPECT_LT(second.offset, first.offset + first.length + kPlaneAlignment);
    }
  }
}

TEST_F(ContainerWriterTest, StoresOnlyThePlanesThatTheBitsNeed) {
  ShardOptions options;
  options.bits = {2, 4};
  const ShardReport report = Write("a.sti", options);
  for (const ShardLocation& shard : report.index.shards) {
    for (const PartKind part : kPartKinds) {
      EXPECT_EQ(shard.parts[part].length != 0, PartSet::For(4).Has(part)) << BitsOf(part);
    }
  }
}

TEST_F(ContainerWriterTest, FullFidelityAloneHasNoPlanes) {
  ShardOptions options;
  options.bits = {32};
  const ShardReport report = Write("a.sti", options);
  for (const ShardLocation& shard : report.index.shards) {
    for (uint32_t bits = 2; bits <= 6; ++bits) {
      EXPECT_EQ(shard.parts[PartAt(bits)].length, 0U);
    }
    EXPECT_EQ(shard.parts[PartKind::kFull].length, ShardWeights(report.index.info.shape) * 2);
  }
  EXPECT_TRUE(
      Succeeded(ParseContainerIndex(EncodeContainerIndex(report.index), report.file_bytes,
                                    64 + EncodeContainerIndex(report.index).size(), "a.sti")));
}

TEST_F(ContainerWriterTest, NothingAppearsWithoutFinish) {
  const std::string path = folder_.File("b.sti");
  const ShardReport report = Write("a.sti");
  const size_t before = folder_.entries();
  {
    ContainerIndex skeleton;
    skeleton.info = report.index.info;
    skeleton.bits = {2};
    auto writer = ContainerWriter::Create(path, skeleton, SelectAll(skeleton.info.shape, {{2}}));
    ASSERT_TRUE(Succeeded(writer));
    const std::vector<uint8_t> raw(100, 1);
    ASSERT_TRUE(Succeeded(writer->AddResident(ResidentKind::kHead, 0, DataType::kF32, raw)));
  }
  EXPECT_EQ(folder_.entries(), before);
}

ModelShape Shape() {
  ModelShape shape;
  shape.layers = 2;
  shape.width = 2;
  return shape;
}

Plan OneShard(uint32_t layer, uint32_t slice, uint32_t bits) {
  Plan plan;
  plan.layers = {layer};
  plan.width = 1;
  plan.slices = {{slice}};
  plan.bits = {{bits}};
  return plan;
}

TEST(PartSelection, HoldsWhatVariantsAndTurnsRead) {
  Plan plan = OneShard(0, 1, 2);
  plan.variants.push_back(OneShard(1, 0, 3));
  PlanTurn turn;
  turn.bits = {{4}};
  plan.turns.push_back(turn);
  const auto selection = SelectForPlans(Shape(), {&plan, 1});
  EXPECT_EQ(selection, (PartSelection{{}, PartSet::For(4), PartSet::For(3), {}}));
  EXPECT_EQ(BitsOfPlans({&plan, 1}), (std::vector<uint32_t>{2, 3, 4}));
}

// Full fidelity is no superset of the planes: what a turn holds at fewer bits has its own parts.
TEST(PartSelection, HoldsThePlanesThatATurnKeepsBelowFullBits) {
  Plan plan = OneShard(0, 0, kFullBits);
  PlanTurn turn;
  turn.bits = plan.bits;
  turn.preload = {{0, 0, 5}};
  plan.turns.push_back(turn);
  const auto selection = SelectForPlans(Shape(), {&plan, 1});
  EXPECT_EQ(selection[0], PartSet::For(kFullBits).With(PartSet::For(5)));
  EXPECT_EQ(BitsOfPlans({&plan, 1}), (std::vector<uint32_t>{5, kFullBits}));
}

}  // namespace

}  // namespace sti
