#include "format/container_header.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/digest.h"
#include "base/little_endian.h"
#include "base/remedy.h"
#include "types/limits.h"

namespace sti {
namespace {

// The first byte is not ASCII and a line feed follows, so that a copy that went through a text-mode
// transfer is recognised as damaged.
constexpr std::array<uint8_t, 8> kMagic = {0x89, 'S', 'T', 'I', 'M', '\r', '\n', 0x1A};

// Field offsets; spec/container.md has the same table.
constexpr size_t kMajorAt = 8;
constexpr size_t kMinorAt = 10;
constexpr size_t kHeaderBytesAt = 12;
constexpr size_t kFileBytesAt = 16;
constexpr size_t kIndexOffsetAt = 24;
constexpr size_t kIndexBytesAt = 32;
constexpr size_t kIndexChecksumAt = 40;
constexpr size_t kReservedAt = 48;
constexpr size_t kHeaderChecksumAt = 56;

}  // namespace

std::array<uint8_t, kContainerHeaderBytes> EncodeContainerHeader(const ContainerHeader& header) {
  std::array<uint8_t, kContainerHeaderBytes> bytes{};
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  StoreLittle<uint16_t>(&bytes[kMajorAt], kContainerMajor);
  StoreLittle<uint16_t>(&bytes[kMinorAt], header.minor);
  StoreLittle<uint32_t>(&bytes[kHeaderBytesAt], kContainerHeaderBytes);
  StoreLittle<uint64_t>(&bytes[kFileBytesAt], header.file_bytes);
  StoreLittle<uint64_t>(&bytes[kIndexOffsetAt], header.index_offset);
  StoreLittle<uint64_t>(&bytes[kIndexBytesAt], header.index_bytes);
  StoreLittle<uint64_t>(&bytes[kIndexChecksumAt], header.index_checksum);
  StoreLittle<uint64_t>(&bytes[kReservedAt], 0);
  StoreLittle<uint64_t>(&bytes[kHeaderChecksumAt],
                        Checksum(std::span<const uint8_t>(bytes).first(kHeaderChecksumAt)));
  return bytes;
}

uint64_t StoredFileBytes(std::span<const uint8_t> bytes) {
  return LoadLittle<uint64_t>(&bytes[kFileBytesAt]);
}

Result<ContainerHeader> ParseContainerHeader(std::span<const uint8_t> bytes, uint64_t file_bytes,
                                             const std::string& name) {
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return ForeignError("not a shard container").At(name).Fix(Remedy::kMakeModel);
  }
  if (bytes.size() < kContainerHeaderBytes) {
    return DataError("header is cut short").At(name).Fix(Remedy::kCopyFileAgain);
  }
  auto major = LoadLittle<uint16_t>(&bytes[kMajorAt]);
  if (major > kContainerMajor) {
    return ForeignError("container version " + std::to_string(major) +
                        " is newer than this tool's " + std::to_string(kContainerMajor))
        .At(name)
        .Fix(Remedy::kUpdateOrMakeModel);
  }
  uint64_t sum = Checksum(bytes.first(kHeaderChecksumAt));
  if (LoadLittle<uint64_t>(&bytes[kHeaderChecksumAt]) != sum || major == 0 ||
      LoadLittle<uint32_t>(&bytes[kHeaderBytesAt]) != kContainerHeaderBytes) {
    return DataError("header is damaged").At(name).Fix(Remedy::kCopyModelAgain);
  }
  ContainerHeader header;
  header.minor = LoadLittle<uint16_t>(&bytes[kMinorAt]);
  header.file_bytes = LoadLittle<uint64_t>(&bytes[kFileBytesAt]);
  header.index_offset = LoadLittle<uint64_t>(&bytes[kIndexOffsetAt]);
  header.index_bytes = LoadLittle<uint64_t>(&bytes[kIndexBytesAt]);
  header.index_checksum = LoadLittle<uint64_t>(&bytes[kIndexChecksumAt]);
  if (header.file_bytes != file_bytes) {
    return DataError("file has " + std::to_string(file_bytes) + " bytes, its header says " +
                     std::to_string(header.file_bytes))
        .At(name)
        .Fix(Remedy::kCopyFileAgain);
  }
  if (header.index_offset != kContainerHeaderBytes || header.index_bytes > kMaxIndexBytes ||
      !RangeFits(header.index_offset, header.index_bytes, file_bytes)) {
    return DataError("header points outside the file").At(name).Fix(Remedy::kMakeModelAgain);
  }
  return header;
}

}  // namespace sti
