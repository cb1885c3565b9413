// Numbers that claim more than the file holds, or hold together what no model needs: refused before
// memory is taken for them.
#include "hostile_sizes.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "container_generated.h"
#include "format/container_header.h"
#include "format/container_index.h"
#include "format/resident_codec.h"
#include "support/expect.h"
#include "support/memory_meter.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

class HostileIndex : public ::testing::Test {
 protected:
  void SetUp() override {
    const TempFolder folder;
    const auto report = WriteTinyContainer(folder.File("a"));
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    file_bytes_ = report->file_bytes;
  }

  /// Refused with these words, and with less memory than `limit` beside the bytes themselves.
  void ExpectRefused(const Bin& bytes, const std::string& words, uint64_t limit = kMiB) const {
    AlignedBuffer aligned(bytes.size());
    std::copy(bytes.begin(), bytes.end(), aligned.data());
    const MemoryMeter meter;
    const auto parsed =
        ParseContainerIndex(aligned.span(), file_bytes_, 64 + bytes.size(), "a.sti");
    EXPECT_LT(meter.peak_bytes(), limit) << words;
    EXPECT_TRUE(FailedWith(parsed, ErrorKind::kDamaged, words));
  }

  ContainerIndex index_;
  uint64_t file_bytes_ = 0;
};

TEST_F(HostileIndex, OffsetsAndLengthsNearTheEndOfNumbers) {
  for (const uint64_t number :
       {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 62, uint64_t{1} << 48}) {
    const std::vector<std::function<uint64_t&(ContainerIndex&)>> fields = {
        [](ContainerIndex& i) -> uint64_t& { return i.shards[1].parts[PartKind::kBase].offset; },
        [](ContainerIndex& i) -> uint64_t& { return i.shards[1].parts[PartKind::kBase].length; },
        [](ContainerIndex& i) -> uint64_t& { return i.shards[2].parts[PartKind::kFull].offset; },
        [](ContainerIndex& i) -> uint64_t& { return i.shards[2].parts[PartKind::kFull].length; },
        [](ContainerIndex& i) -> uint64_t& { return i.resident[0].part.offset; },
        [](ContainerIndex& i) -> uint64_t& { return i.resident.back().part.length; },
        [](ContainerIndex& i) -> uint64_t& { return i.resident.back().raw_length; },
        [](ContainerIndex& i) -> uint64_t& { return i.resident[1].raw_length; },
        [](ContainerIndex& i) -> uint64_t& { return i.words.offset; }};
    for (const auto& field : fields) {
      ContainerIndex edited = index_;
      field(edited) = number;
      ExpectRefused(EncodeContainerIndex(edited), "a.sti: index: ");
    }
  }
}

TEST_F(HostileIndex, AMillionLayers) {
  for (const uint32_t layers : {1'000'000U, 1025U, UINT32_MAX}) {
    ContainerIndex edited = index_;
    edited.info.shape.layers = layers;
    ExpectRefused(EncodeContainerIndex(edited), "shape outside the limits");
  }
}

// As many layers and slices as are allowed, none of them there. 40 MiB is the list of places.
TEST_F(HostileIndex, AThousandLayersThatAreNotThere) {
  ContainerIndex edited = index_;
  edited.info.shape.layers = 1024;
  ExpectRefused(EncodeContainerIndex(edited), "depth map missing");
  edited.info.depth_layers.clear();
  for (uint32_t n = 1; n <= 1024; ++n) {
    std::vector<uint32_t>& row = edited.info.depth_layers.emplace_back();
    for (uint32_t layer = 0; layer < n; ++layer) row.push_back(layer);
  }
  edited.centroids.resize(1024, edited.centroids[0]);
  ExpectRefused(EncodeContainerIndex(edited), "index: ", 80 * kMiB);
}

// Offsets of a FlatBuffer may all name one text: 65536 labels of a mebibyte would be 64 GiB.
TEST_F(HostileIndex, LabelsThatShareOneText) {
  constexpr uint32_t kLabels = 65536;
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(std::string(kMiB, 'x'));
  const auto labels =
      builder.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(kLabels, text));
  const auto tokenizer = fb::CreateTokenizerOptions(builder);
  const fb::Digest128 digest(1, 2);
  const fb::Shape shape(1, 1, 16, 16, 100, 16, 2, kLabels);
  fb::ContainerIndexBuilder index(builder);
  index.add_model(&digest);
  index.add_shape(&shape);
  index.add_labels(labels);
  index.add_min_width(1);
  index.add_tokenizer(tokenizer);
  builder.Finish(index.Finish());
  ExpectRefused({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()},
                "labels longer than the index");
}

// So may layers with the scales of the widest model: 1024 of them would be 384 MiB.
TEST_F(HostileIndex, ScalesThatShareOneList) {
  constexpr uint32_t kHidden = 16384;
  flatbuffers::FlatBufferBuilder builder;
  const auto values = builder.CreateVector(std::vector<float>(124, 0.0F));
  const auto scales = builder.CreateVector(std::vector<uint16_t>(6 * kHidden, 0x3F80));
  const auto layer = fb::CreateLayerCentroids(builder, values, scales);
  const auto layers =
      builder.CreateVector(std::vector<flatbuffers::Offset<fb::LayerCentroids>>(2, layer));
  const std::vector<uint16_t> both{0, 1};
  std::vector<flatbuffers::Offset<fb::DepthRow>> rows;
  rows.push_back(fb::CreateDepthRow(builder, builder.CreateVector(both.data(), 1)));
  rows.push_back(fb::CreateDepthRow(builder, builder.CreateVector(both)));
  const auto depths = builder.CreateVector(rows);
  const auto labels = builder.CreateVectorOfStrings({"label"});
  const auto bits = builder.CreateVector(std::vector<uint8_t>{2});
  const auto tokenizer = fb::CreateTokenizerOptions(builder);
  const fb::Digest128 digest(1, 2);
  const fb::Shape shape(2, 1, kHidden, 16, 100, 16, 2, 1);
  fb::ContainerIndexBuilder index(builder);
  index.add_model(&digest);
  index.add_shape(&shape);
  index.add_labels(labels);
  index.add_depth_layers(depths);
  index.add_min_width(1);
  index.add_tokenizer(tokenizer);
  index.add_codebook(2);
  index.add_bits(bits);
  index.add_centroids(layers);
  builder.Finish(index.Finish());
  ExpectRefused({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()},
                "scales longer than the index");
}

TEST(HostileHeader, ClaimsBeyondTheFile) {
  const struct {
    uint64_t offset, bytes;
  } claims[] = {{64, uint64_t{1} << 63},       {64, UINT64_MAX}, {uint64_t{1} << 63, 64},
                {64, (uint64_t{1} << 28) + 1}, {64, 8192 - 63},  {UINT64_MAX - 63, 64}};
  for (const auto& claim : claims) {
    const auto header = EncodeContainerHeader({8192, claim.offset, claim.bytes, 0});
    const MemoryMeter meter;
    EXPECT_TRUE(FailedWith(ParseContainerHeader(header, 8192, "a.sti"), ErrorKind::kDamaged,
                           "a.sti: header points outside the file"));
    EXPECT_LT(meter.peak_bytes(), 4096U);
  }
}

Bin Bomb(uint64_t size) {
  Bin raw(size, 0);
  Bin packed(ZSTD_compressBound(size));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), size, 19));
  return packed;
}

TEST(HostileResident, AVocabularyThatUnpacksToMoreThanItSays) {
  const Bin bomb = Bomb(256 * kMiB);
  ASSERT_LT(bomb.size(), 32768U);
  ResidentLocation location;
  location.kind = ResidentKind::kVocabulary;
  location.compression = Compression::kZstd;
  location.part.length = bomb.size();
  location.raw_length = 1000;
  const MemoryMeter meter;
  EXPECT_TRUE(FailedWith(UnpackText(location, bomb, "a.sti: vocabulary"), ErrorKind::kDamaged,
                         "a.sti: vocabulary: "));
  // A frame that does not say its size, or two frames of which the first says the right one.
  Bin two = Bomb(1000);
  two.insert(two.end(), bomb.begin(), bomb.end());
  EXPECT_TRUE(FailedWith(UnpackText(location, two, "a.sti: vocabulary"), ErrorKind::kDamaged,
                         "bytes behind its frame"));
  EXPECT_LT(meter.peak_bytes(), kMiB);
}

// Returns where the packed head of a model of this shape lies, in fp32.
ResidentLocation PackedHead(const ModelShape& shape) {
  ResidentLocation location;
  location.kind = ResidentKind::kHead;
  location.compression = Compression::kZstd;
  location.raw_length = ValuesAt(Home::kHead, shape) * sizeof(float);
  return location;
}

// The shape says how much the head takes, and so much it takes once: not a second time unpacked.
TEST(HostileResident, AHeadIsNeverHeldBesideItsTensors) {
  ModelShape shape;
  shape.hidden = 1024;
  shape.labels = 16384;
  const ResidentLocation location = PackedHead(shape);
  ASSERT_GT(location.raw_length, 64 * kMiB);
  const Bin bomb = Bomb(location.raw_length);
  ASSERT_LT(bomb.size(), kMiB);
  uint64_t bytes = 0;
  const MemoryMeter meter;
  EXPECT_TRUE(Succeeded(ReadTensors(location, shape, bomb, "a.sti: head parameters",
                                    [&](TensorRole, uint64_t, std::span<const uint8_t> values) {
                                      bytes += values.size();
                                      return Status();
                                    })));
  EXPECT_EQ(bytes, location.raw_length);
  EXPECT_LT(meter.peak_bytes(), kMiB);
}

// Unpacking in pieces takes as much memory as a frame may refer back to.
TEST(HostileResident, AFrameOfTensorsHasAWindowOfAtMost8MiB) {
  ModelShape shape;
  shape.hidden = 1024;
  shape.labels = 2048;
  const ResidentLocation location = PackedHead(shape);
  ASSERT_GT(location.raw_length, 8 * kMiB);
  const Bin raw(location.raw_length, 0);
  for (const int window : {23, 24}) {
    Bin frame(ZSTD_compressBound(raw.size()));
    ZSTD_CCtx* context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window);
    frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), raw.data(), raw.size()));
    ZSTD_freeCCtx(context);
    const Status read =
        ReadTensors(location, shape, frame, "a.sti: head parameters",
                    [](TensorRole, uint64_t, std::span<const uint8_t>) { return Status(); });
    EXPECT_EQ(read.ok(), window == 23);
    EXPECT_TRUE(read.ok() || FailedWith(read, ErrorKind::kDamaged, "does not decompress"));
  }
}

TEST_F(HostileIndex, AVocabularyBeyondItsLimit) {
  ContainerIndex edited = index_;
  edited.resident.back().raw_length = 64 * kMiB + 1;
  edited.resident.back().compression = Compression::kZstd;
  ExpectRefused(EncodeContainerIndex(edited), "resident part");
}

}  // namespace
}  // namespace sti
