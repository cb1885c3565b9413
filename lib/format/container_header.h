// The fixed header of a shard container: 64 bytes at offset 0 (spec/container.md, "Header").
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace sti {

inline constexpr uint64_t kContainerHeaderBytes = 64;
inline constexpr uint16_t kContainerMajor = 1;
inline constexpr uint16_t kContainerMinor = 9;

struct ContainerHeader {
  uint64_t file_bytes = 0;
  uint64_t index_offset = 0;
  uint64_t index_bytes = 0;
  uint64_t index_checksum = 0;
  uint16_t minor = kContainerMinor;  ///< of the version whose words the file needs
};

std::array<uint8_t, kContainerHeaderBytes> EncodeContainerHeader(const ContainerHeader& header);

/// Returns how many bytes a header says that its file has; `bytes` holds a header.
uint64_t StoredFileBytes(std::span<const uint8_t> bytes);

/// Checks magic, version, checksum and that the index lies inside a file of `file_bytes`. `name` is
/// for messages.
Result<ContainerHeader> ParseContainerHeader(std::span<const uint8_t> bytes, uint64_t file_bytes,
                                             const std::string& name);

}  // namespace sti
