#include "format/resident_codec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/half.h"
#include "support/expect.h"
#include "support/random.h"
#include "types/finite.h"

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
  const auto back = UnpackText(LocationOf(part, raw.size()), part.bytes, "a");
  ASSERT_TRUE(Succeeded(back));
  EXPECT_EQ(Bytes(back->begin(), back->end()), raw);
}

TEST(CompressPart, KeepsNoiseAsItIs) {
  const Bytes raw = Noise(5000);
  const StoredPart part = CompressPart(raw);
  EXPECT_EQ(part.compression, Compression::kNone);
  EXPECT_EQ(part.bytes, raw);
  const auto back = UnpackText(LocationOf(part, raw.size()), part.bytes, "a");
  ASSERT_TRUE(Succeeded(back));
  EXPECT_EQ(Bytes(back->begin(), back->end()), raw);
}

TEST(UnpackText, RefusesAFrameThatClaimsAnotherSize) {
  const Bytes raw = Compressible(20000);
  const StoredPart part = CompressPart(raw);
  for (const uint64_t claim : {uint64_t{0}, uint64_t{19999}, uint64_t{20001}, uint64_t{1} << 32}) {
    const auto back = UnpackText(LocationOf(part, claim), part.bytes, "a");
    EXPECT_TRUE(FailedWith(back, ErrorKind::kDamaged, "claims another size")) << claim;
  }
}

// The frame says a gigabyte and so does not the index: nothing may be allocated for it.
TEST(UnpackText, RefusesAFrameHeaderThatLies) {
  const Bytes raw = Compressible(70000);
  StoredPart part = CompressPart(raw);
  ASSERT_EQ(part.compression, Compression::kZstd);
  ASSERT_EQ(part.bytes[4] >> 6, 2) << "a content size of four bytes was expected";
  const size_t at = (part.bytes[4] & 0x20) != 0 ? 5 : 6;  // after the window byte, if any
  part.bytes[at + 3] = 0x40;
  EXPECT_TRUE(FailedWith(UnpackText(LocationOf(part, raw.size()), part.bytes, "a"),
                         ErrorKind::kDamaged, "claims another size"));
  // Both lie together, but the frame does not hold what it says.
  const uint64_t lie = raw.size() + (uint64_t{1} << 8);
  const uint32_t written = static_cast<uint32_t>(lie);
  std::memcpy(&part.bytes[at], &written, 4);
  EXPECT_TRUE(FailedWith(UnpackText(LocationOf(part, lie), part.bytes, "a"), ErrorKind::kDamaged,
                         "does not decompress"));
}

TEST(UnpackText, RefusesDamageOfAnyByteOrGivesTheSameSize) {
  const Bytes raw = Compressible(20000);
  const StoredPart part = CompressPart(raw);
  size_t refused = 0;
  for (size_t i = 0; i < part.bytes.size(); ++i) {
    Bytes damaged = part.bytes;
    damaged[i] ^= 0x20;
    const auto back = UnpackText(LocationOf(part, raw.size()), damaged, "a");
    if (back.ok()) {
      EXPECT_EQ(back->size(), raw.size());
    } else {
      EXPECT_TRUE(FailedWith(back, ErrorKind::kDamaged));
      ++refused;
    }
    const auto cut = UnpackText(LocationOf(part, raw.size()), std::span(part.bytes).first(i), "a");
    EXPECT_TRUE(FailedWith(cut, ErrorKind::kDamaged));
  }
  EXPECT_GT(refused, 4U);
}

ModelShape SmallShape() {
  ModelShape shape;
  shape.layers = 1;
  shape.width = 2;
  shape.hidden = 4;
  shape.ffn = 6;
  shape.token_types = 2;
  shape.labels = 3;
  return shape;
}

using Tensors = std::vector<std::vector<float>>;

/// The tensors of a stored part, value by value; `a` is its name.
Result<Tensors> Read(const ResidentLocation& location, std::span<const uint8_t> stored,
                     const ModelShape& shape = SmallShape()) {
  const std::span<const TensorSpec> stored_tensors = TensorsAt(HomeOf(location.kind));
  Tensors tensors(stored_tensors.size());
  STI_RETURN_IF_ERROR(
      ReadTensors(location, shape, stored, "a",
                  [&](TensorRole role, uint64_t first, std::span<const uint8_t> values) {
                    const auto tensor = static_cast<size_t>(&SpecOf(role) - stored_tensors.data());
                    EXPECT_EQ(first, tensors[tensor].size());
                    for (size_t at = 0; at < values.size(); at += BytesOf(location.type)) {
                      tensors[tensor].push_back(LoadValue(location.type, &values[at]));
                    }
                    return Status();
                  }));
  return tensors;
}

ResidentLocation Embedding(DataType type) {
  ResidentLocation location;
  location.kind = ResidentKind::kEmbedding;
  location.type = type;
  return location;
}

TEST(ReadTensors, GivesTensorsInOrderInEveryType) {
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
    const ResidentLocation location = Embedding(type);
    const auto tensors = Read(location, raw);
    ASSERT_TRUE(Succeeded(tensors));
    EXPECT_EQ(*tensors, (Tensors{{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5},
                                 {4, 4.5, 5, 5.5},
                                 {6, 6.5, 7, 7.5},
                                 {},
                                 {},
                                 {},
                                 {},
                                 {},
                                 {}}));
    for (const size_t size : {size_t{0}, raw.size() - 1, raw.size() - BytesOf(type)}) {
      EXPECT_TRUE(FailedWith(Read(location, std::span(raw).first(size)), ErrorKind::kDamaged,
                             "another size than the shape"));
    }
    raw.push_back(0);
    EXPECT_TRUE(FailedWith(Read(location, raw), ErrorKind::kDamaged));
  }
}

TEST(ReadTensors, AreFinite) {
  for (const auto& [type, infinity] :
       {std::pair{DataType::kF32, uint16_t{0x7F80}}, std::pair{DataType::kF16, uint16_t{0x7C00}},
        std::pair{DataType::kBF16, uint16_t{0x7F80}}}) {
    Bytes raw(16 * BytesOf(type), 0);
    EXPECT_TRUE(Succeeded(Read(Embedding(type), raw)));
    std::memcpy(&raw[raw.size() - 2], &infinity, 2);
    EXPECT_TRUE(FailedWith(Read(Embedding(type), raw), ErrorKind::kDamaged,
                           "a: holds a number that is not finite"));
  }
}

/// A head of many pieces, which end within its tensors.
struct PackedHead {
  PackedHead() {
    shape = SmallShape();
    shape.hidden = 150;
    shape.labels = 400;
    location.kind = ResidentKind::kHead;
    Bytes raw;
    for (const TensorSpec& spec : TensorsAt(Home::kHead)) {
      const uint64_t size = SizeOf(spec, shape).count();
      std::vector<float>& tensor = tensors.emplace_back(size);
      for (uint64_t i = 0; i < size; ++i) tensor[i] = static_cast<float>(raw.size() + i / 50);
      const auto* first = reinterpret_cast<const uint8_t*>(tensor.data());
      raw.insert(raw.end(), first, first + size * sizeof(float));
    }
    StoredPart part = CompressPart(raw);
    EXPECT_EQ(part.compression, Compression::kZstd);
    stored = std::move(part.bytes);
    location.compression = Compression::kZstd;
    location.raw_length = raw.size();
  }
  ModelShape shape;
  ResidentLocation location;
  Bytes stored;
  Tensors tensors;
};

const PackedHead& TheHead() {
  static const PackedHead head;
  return head;
}

TEST(ReadTensors, OfACompressedPartComeInPieces) {
  const PackedHead& head = TheHead();
  const auto read = Read(head.location, head.stored, head.shape);
  ASSERT_TRUE(Succeeded(read));
  EXPECT_EQ(*read, head.tensors);
}

// Cut, or with more behind its frame: another frame, one that a decoder skips, or a byte.
TEST(ReadTensors, OfACompressedPartHaveOneFrame) {
  const PackedHead& head = TheHead();
  for (const size_t size : {size_t{0}, size_t{3}, size_t{20}, head.stored.size() - 1}) {
    EXPECT_TRUE(FailedWith(Read(head.location, std::span(head.stored).first(size), head.shape),
                           ErrorKind::kDamaged, "a: a resident part "));
  }
  const Bytes skipped = {0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 7};
  const Bytes empty = {0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0};
  for (const Bytes& behind : {skipped, empty, Bytes{0}}) {
    Bytes more = head.stored;
    more.insert(more.end(), behind.begin(), behind.end());
    EXPECT_TRUE(FailedWith(Read(head.location, more, head.shape), ErrorKind::kDamaged,
                           "has bytes behind its frame"));
    Bytes before = behind;
    before.insert(before.end(), head.stored.begin(), head.stored.end());
    EXPECT_TRUE(FailedWith(Read(head.location, before, head.shape), ErrorKind::kDamaged));
  }
  const Bytes raw = Compressible(20000);
  StoredPart text = CompressPart(raw);
  text.bytes.insert(text.bytes.end(), skipped.begin(), skipped.end());
  EXPECT_TRUE(FailedWith(UnpackText(LocationOf(text, raw.size()), text.bytes, "a"),
                         ErrorKind::kDamaged, "has bytes behind its frame"));
}

TEST(ReadTensors, RefusesDamageOfAnyByteOrGivesAllValues) {
  const PackedHead& head = TheHead();
  size_t refused = 0;
  for (size_t i = 0; i < head.stored.size(); i += 31) {
    Bytes damaged = head.stored;
    damaged[i] ^= 0x20;
    const auto read = Read(head.location, damaged, head.shape);
    if (!read.ok()) ++refused;
    EXPECT_TRUE(read.ok() || FailedWith(read, ErrorKind::kDamaged));
    EXPECT_TRUE(!read.ok() || read->back().size() == head.tensors.back().size());
  }
  EXPECT_GT(refused, 1U);
}

TEST(ReadTensors, EndsWithTheFirstErrorOfTheVisit) {
  const PackedHead& head = TheHead();
  int calls = 0;
  const Status read = ReadTensors(head.location, head.shape, head.stored, "a",
                                  [&](TensorRole, uint64_t, std::span<const uint8_t>) {
                                    return ++calls == 2 ? Status(MachineError("full")) : Status();
                                  });
  EXPECT_TRUE(FailedWith(read, ErrorKind::kMachine, "full"));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace sti
