#include "format/resident_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/half.h"
#include "support/expect.h"
#include "support/random.h"
#include "types/load_value.h"

namespace sti {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes Compressible(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(i / 100);
  return bytes;
}

Bytes Noise(size_t count) {
  TestRandom random(1);
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next());
  return bytes;
}

ResidentLocation LocationOf(const StoredPart& part, uint64_t raw_length) {
  ResidentLocation location;
  location.part.length = part.bytes.size();
  location.raw_length = raw_length;
  location.compression = part.compression;
  return location;
}

TEST(CompressPart, CompressesWhatShrinksAndReadsItBack) {
  const Bytes raw = Compressible(20000);
  const StoredPart part = CompressPart(raw);
  EXPECT_EQ(part.compression, Compression::kZstd);
  EXPECT_LT(part.bytes.size(), 1000U);
  const auto back = DecompressPart(LocationOf(part, raw.size()), part.bytes, "a");
  ASSERT_TRUE(Succeeded(back));
  EXPECT_EQ(*back, raw);
}

TEST(CompressPart, KeepsNoiseAsItIs) {
  const Bytes raw = Noise(5000);
  const StoredPart part = CompressPart(raw);
  EXPECT_EQ(part.compression, Compression::kNone);
  EXPECT_EQ(part.bytes, raw);
  const auto back = DecompressPart(LocationOf(part, raw.size()), part.bytes, "a");
  ASSERT_TRUE(Succeeded(back));
  EXPECT_EQ(*back, raw);
}

TEST(DecompressPart, RefusesAFrameThatClaimsAnotherSize) {
  const Bytes raw = Compressible(20000);
  const StoredPart part = CompressPart(raw);
  for (const uint64_t claim : {uint64_t{0}, uint64_t{19999}, uint64_t{20001}, uint64_t{1} << 32}) {
    const auto back = DecompressPart(LocationOf(part, claim), part.bytes, "a");
    EXPECT_TRUE(FailedWith(back, ErrorKind::kDamaged, "claims another size")) << claim;
  }
}

// The frame says a gigabyte and so does not the index: nothing may be allocated for it.
TEST(DecompressPart, RefusesAFrameHeaderThatLies) {
  const Bytes raw = Compressible(70000);
  StoredPart part = CompressPart(raw);
  ASSERT_EQ(part.compression, Compression::kZstd);
  ASSERT_EQ(part.bytes[4] >> 6, 2) << "a content size of four bytes was expected";
  const size_t at = (part.bytes[4] & 0x20) != 0 ? 5 : 6;  // after the window byte, if any
  part.bytes[at + 3] = 0x40;
  EXPECT_TRUE(FailedWith(DecompressPart(LocationOf(part, raw.size()), part.bytes, "a"),
                         ErrorKind::kDamaged, "claims another size"));
  // Both lie together, but the frame does not hold what it says.
  const uint64_t lie = raw.size() + (uint64_t{1} << 8);
  const uint32_t written = static_cast<uint32_t>(lie);
  std::memcpy(&part.bytes[at], &written, 4);
  EXPECT_TRUE(FailedWith(DecompressPart(LocationOf(part, lie), part.bytes, "a"),
                         ErrorKind::kDamaged, "does not decompress"));
}

TEST(DecompressPart, RefusesDamageOfAnyByteOrGivesTheSameSize) {
  const Bytes raw = Compressible(20000);
  const StoredPart part = CompressPart(raw);
  size_t refused = 0;
  for (size_t i = 0; i < part.bytes.size(); ++i) {
    Bytes damaged = part.bytes;
    damaged[i] ^= 0x20;
    const auto back = DecompressPart(LocationOf(part, raw.size()), damaged, "a");
    if (back.ok()) {
      EXPECT_EQ(back->size(), raw.size());
    } else {
      EXPECT_TRUE(FailedWith(back, ErrorKind::kDamaged));
      ++refused;
    }
    const auto cut =
        DecompressPart(LocationOf(part, raw.size()), std::span(part.bytes).first(i), "a");
    EXPECT_TRUE(FailedWith(cut, ErrorKind::kDamaged));
  }
  EXPECT_GT(refused, 4U);
}

ModelShape Shape() {
  ModelShape shape;
  shape.layers = 1;
  shape.width = 2;
  shape.hidden = 4;
  shape.ffn = 6;
  shape.token_types = 2;
  shape.labels = 3;
  return shape;
}

TEST(ResidentTensorSizes, CountEveryParameter) {
  using Sizes = std::vector<uint64_t>;
  EXPECT_EQ(ResidentTensorSizes(ResidentKind::kEmbedding, Shape()), (Sizes{8, 4, 4}));
  EXPECT_EQ(ResidentTensorSizes(ResidentKind::kLayer, Shape()),
            (Sizes{4, 4, 4, 4, 4, 4, 6, 4, 4, 4}));
  EXPECT_EQ(ResidentTensorSizes(ResidentKind::kHead, Shape()), (Sizes{16, 4, 12, 3}));
}

std::vector<float> Values(std::span<const uint8_t> tensor, DataType type) {
  std::vector<float> values;
  for (size_t at = 0; at < tensor.size(); at += BytesOf(type)) {
    values.push_back(LoadValue(type, &tensor[at]));
  }
  return values;
}

TEST(ResidentTensors, GivesTensorsInOrderInEveryType) {
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    Bytes raw;
    for (int i = 0; i < 16; ++i) {
      const float value = static_cast<float>(i) * 0.5F;
      const uint32_t bits = type == DataType::kF32   ? std::bit_cast<uint32_t>(value)
                            : type == DataType::kF16 ? FloatToHalf(value)
                                                     : FloatToBFloat(value);
      for (uint32_t b = 0; b < BytesOf(type); ++b) {
        raw.push_back(static_cast<uint8_t>(bits >> (8 * b)));
      }
    }
    ResidentLocation location;
    location.kind = ResidentKind::kEmbedding;
    location.type = type;
    const auto tensors = ResidentTensors(location, Shape(), raw, "a");
    ASSERT_TRUE(Succeeded(tensors));
    EXPECT_EQ(Values((*tensors)[0], type), (std::vector<float>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5}));
    EXPECT_EQ(Values((*tensors)[1], type), (std::vector<float>{4, 4.5, 5, 5.5}));
    EXPECT_EQ(Values((*tensors)[2], type), (std::vector<float>{6, 6.5, 7, 7.5}));
    for (const size_t size : {size_t{0}, raw.size() - 1, raw.size() - BytesOf(type)}) {
      EXPECT_TRUE(FailedWith(ResidentTensors(location, Shape(), std::span(raw).first(size), "a"),
                             ErrorKind::kDamaged, "another size than the shape"));
    }
    raw.push_back(0);
    EXPECT_TRUE(FailedWith(ResidentTensors(location, Shape(), raw, "a"), ErrorKind::kDamaged));
  }
}

}  // namespace
}  // namespace sti
