#include "format/container_header.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/digest.h"
#include "base/little_endian.h"
#include "base/remedy.h"
#include "support/expect.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr uint64_t kFileBytes = 40960;
using Bytes = std::vector<uint8_t>;

Bytes Encoded(const ContainerHeader& header = {kFileBytes, 64, 1000, 0x0123456789ABCDEFU}) {
  const auto bytes = EncodeContainerHeader(header);
  return {bytes.begin(), bytes.end()};
}

// With a checksum that is right again: what a hostile writer would make.
Bytes Resealed(Bytes bytes) {
  StoreLittle<uint64_t>(&bytes[56], Checksum(std::span<const uint8_t>(bytes).first(56)));
  return bytes;
}

Result<ContainerHeader> Parse(std::span<const uint8_t> bytes, uint64_t file_bytes = kFileBytes) {
  return ParseContainerHeader(bytes, file_bytes, "a.sti");
}

TEST(ContainerHeader, RoundTrip) {
  const auto header = Parse(Encoded());
  ASSERT_TRUE(Succeeded(header));
  EXPECT_EQ(header->file_bytes, kFileBytes);
  EXPECT_EQ(header->index_offset, 64U);
  EXPECT_EQ(header->index_bytes, 1000U);
  EXPECT_EQ(header->index_checksum, 0x0123456789ABCDEFU);
}

TEST(ContainerHeader, FieldsLieWhereTheSpecSays) {
  const Bytes bytes = Encoded();
  ASSERT_EQ(bytes.size(), 64U);
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 16),
            (Bytes{0x89, 'S', 'T', 'I', 'M', '\r', '\n', 0x1A, 1, 0, 9, 0, 64, 0, 0, 0}));
  EXPECT_EQ(LoadLittle<uint64_t>(&bytes[16]), kFileBytes);
  EXPECT_EQ(LoadLittle<uint64_t>(&bytes[24]), 64U);
  EXPECT_EQ(LoadLittle<uint64_t>(&bytes[32]), 1000U);
  EXPECT_EQ(LoadLittle<uint64_t>(&bytes[40]), 0x0123456789ABCDEFU);
  EXPECT_EQ(LoadLittle<uint64_t>(&bytes[48]), 0U);
  EXPECT_EQ(LoadLittle<uint64_t>(&bytes[56]), Checksum(std::span(bytes).first(56)));
}

TEST(ContainerHeader, EveryChangedByteIsRefused) {
  for (size_t i = 0; i < 64; ++i) {
    for (int change = 1; change < 256; ++change) {
      Bytes damaged = Encoded();
      damaged[i] ^= static_cast<uint8_t>(change);
      ASSERT_TRUE(Refused(Parse(damaged), "a.sti: ")) << i;
    }
  }
}

TEST(ContainerHeader, EveryTruncationIsRefused) {
  const Bytes bytes = Encoded();
  for (size_t size = 0; size < 64; ++size) {
    const std::string words = size < 8 ? "not a shard container" : "cut short";
    EXPECT_TRUE(Refused(Parse(std::span(bytes).first(size)), words));
  }
}

TEST(ContainerHeader, NewerMajorSaysWhatToDo) {
  Bytes bytes = Encoded();
  bytes[8] = 2;
  for (const Bytes& newer : {bytes, Resealed(bytes)}) {
    EXPECT_TRUE(FailedWith(Parse(newer), ErrorKind::kForeign,
                           "version 2 is newer than this tool's 1", Remedy::kUpdateOrMakeModel));
  }
}

TEST(ContainerHeader, NewerMinorAndReservedBytesLoad) {
  Bytes bytes = Encoded();
  bytes[10] = 7;
  bytes[48] = 1;
  EXPECT_TRUE(Succeeded(Parse(Resealed(bytes))));
}

TEST(ContainerHeader, MajorZeroAndOtherSizesAreRefused) {
  Bytes zero = Encoded();
  zero[8] = 0;
  EXPECT_TRUE(FailedWith(Parse(Resealed(zero)), ErrorKind::kDamaged));
  Bytes longer = Encoded();
  longer[12] = 72;
  EXPECT_TRUE(FailedWith(Parse(Resealed(longer)), ErrorKind::kDamaged));
}

TEST(ContainerHeader, FileOfAnotherSizeIsRefused) {
  EXPECT_TRUE(FailedWith(Parse(Encoded(), kFileBytes - 4096), ErrorKind::kDamaged, "36864 bytes"));
  EXPECT_TRUE(FailedWith(Parse(Encoded(), kFileBytes + 4096), ErrorKind::kDamaged));
}

TEST(ContainerHeader, IndexOutsideTheFileIsRefused) {
  for (const auto& [offset, length] :
       std::vector<std::pair<uint64_t, uint64_t>>{{0, 100},
                                                  {63, 100},
                                                  {64, kFileBytes - 63},
                                                  {kFileBytes + 1, 0},
                                                  {UINT64_MAX, 2},
                                                  {64, UINT64_MAX},
                                                  {UINT64_MAX - 100, 200},
                                                  {64, kMaxIndexBytes + 1}}) {
    const Bytes bytes = Encoded({kFileBytes, offset, length, 0});
    EXPECT_TRUE(FailedWith(Parse(bytes), ErrorKind::kDamaged, "points outside the file"));
  }
}

}  // namespace
}  // namespace sti
