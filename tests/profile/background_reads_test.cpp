#include "profile/background_reads.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/container_file.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class BackgroundReadsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(Succeeded(WriteBytes(path_, std::string(16 * kBlockBytes, 'x'))));
  }
  /// A layer of reads of one block each, at these blocks of the file.
  static LayerReads LayerAt(std::initializer_list<uint64_t> blocks) {
    LayerReads layer;
    for (const uint64_t block : blocks) {
      ScheduledRead read;
      read.offset = block * kBlockBytes;
      read.length = kBlockBytes;
      read.place = layer.bytes;
      layer.reads.push_back(read);
      layer.bytes += kBlockBytes;
    }
    return layer;
  }
  [[nodiscard]] auto Start(const std::vector<LayerReads>& layers, uint32_t depth) const {
    auto lane = BackgroundReads::Start(FileSource(path_), ReadPath::kThreads, layers,
                                       ReadShape{kUsualReadBytes, depth});
    EXPECT_TRUE(Succeeded(lane));
    return std::move(*lane);
  }
  /// Loads, and returns once it has.
  static void Load(BackgroundReads& lane, double share) {
    const uint64_t before = lane.loads();
    lane.Load(share);
    while (lane.loads() == before) std::this_thread::yield();
  }

  TempFolder folder_;
  std::string path_ = folder_.File("blocks");
};

TEST_F(BackgroundReadsTest, StartsAndStopsWithReadsInFlight) {
  for (int i = 0; i < 20; ++i) {
    const auto lane = Start({LayerAt({0, 1, 2, 3}), LayerAt({8, 9})}, 4);
    lane->Load(1);
  }
}

TEST_F(BackgroundReadsTest, LoadsAsOftenAsItIsAskedTo) {
  for (const uint32_t depth : {1U, 4U}) {
    const auto lane = Start({LayerAt({0, 1, 2, 3}), LayerAt({4}), LayerAt({5, 6})}, depth);
    lane->Pause();
    EXPECT_EQ(lane->loads(), 0);
    for (uint64_t loads = 0; loads < 20; ++loads) {
      Load(*lane, 1);
      lane->Pause();
      EXPECT_EQ(lane->loads(), loads + 1);
    }
  }
}

TEST_F(BackgroundReadsTest, ALoadIsAShareOfTheNextLayersReads) {
  // The last read of the second layer lies beyond the end of the file: it fails.
  const auto lane = Start({LayerAt({0, 1}), LayerAt({2, 64})}, 4);
  for (int i = 0; i < 4; ++i) Load(*lane, 0.5);
  lane->Load(0);
  lane->Pause();
  EXPECT_EQ(lane->loads(), 4);
  Load(*lane, 1);
  Load(*lane, 0.6);  // both reads of the second layer
  lane->Load(0.5);
  lane->Pause();
  EXPECT_EQ(lane->loads(), 6) << "a load that fails is the last";
}

TEST_F(BackgroundReadsTest, ReadingNothingIsFine) {
  const auto lane = Start({}, 1);
  lane->Load(1);
  lane->Pause();
  EXPECT_EQ(lane->loads(), 0);
}

TEST(BackgroundReads, AMissingFileIsAnError) {
  EXPECT_TRUE(FailedWith(BackgroundReads::Start(FileSource("/none/such"), ReadPath::kBuffered, {}),
                         ErrorKind::kNoSuchFile, "no such file"));
}

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
