#include "profile/layer_reads.h"

#include <gtest/gtest.h>

#include "base/aligned_buffer.h"
#include "io/container_file.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class LayerReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.hidden = 256;
    model.ffn = 512;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model)));
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    index_ = file->index();
  }

  // Whole blocks, one read behind the other in memory.
  static void ExpectSound(const LayerReads& reads) {
    uint64_t place = 0;
    for (const ScheduledRead& read : reads.reads) {
      EXPECT_EQ(read.offset % kBlockBytes, 0U);
      EXPECT_EQ(read.length % kBlockBytes, 0U);
      EXPECT_GT(read.length, 0U);
      EXPECT_EQ(read.place, place);
      place += read.length;
    }
    EXPECT_EQ(place, reads.bytes);
  }

  static bool Covers(const LayerReads& reads, const PartLocation& part) {
    uint64_t covered = 0;
    for (const ScheduledRead& read : reads.reads) {
      const uint64_t begin = std::max(read.offset, part.offset);
      const uint64_t end = std::min(read.offset + read.length, part.offset + part.length);
      if (begin < end) covered += end - begin;
    }
    return covered >= part.length;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
};

TEST_F(LayerReadsTest, AllPartsOfAllSlices) {
  for (const uint32_t most : {4096u, 8192u, 1u << 20}) {
    const auto reads = ReadsAtBits(index_, 1, 6, most);
    ASSERT_TRUE(Succeeded(reads));
    ExpectSound(*reads);
    for (uint32_t slice = 0; slice < index_.info.shape.width; ++slice) {
      for (uint32_t bits = 2; bits <= 6; ++bits)
        EXPECT_TRUE(Covers(*reads, index_.shard({1, slice}).parts[PartAt(bits)]));
    }
  }
}

TEST_F(LayerReadsTest, OnePlaneIsLessThanAShard) {
  const LayerReads plane = ReadsOfPlane(index_, 0, 6);
  ExpectSound(plane);
  for (uint32_t slice = 0; slice < index_.info.shape.width; ++slice)
    EXPECT_TRUE(Covers(plane, index_.shard({0, slice}).parts[PartAt(6)]));
  const auto shards = ReadsAtBits(index_, 0, 6, 1u << 20);
  ASSERT_TRUE(Succeeded(shards));
  EXPECT_LE(plane.bytes, shards->bytes);
}

TEST_F(LayerReadsTest, SlicesWithoutThePlaneAreLeftOut) {
  for (ShardLocation& shard : index_.shards) shard.parts[PartAt(5)].length = 0;
  EXPECT_TRUE(ReadsOfPlane(index_, 0, 5).reads.empty());
}

}  // namespace
}  // namespace sti
