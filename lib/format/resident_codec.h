// Resident parts: what stays in memory while a model is open (spec/container.md, "Resident parts").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"

namespace sti {

/// The stored form of a part: compressed where that saves at least a quarter. Saving less than a
/// tenth makes a cold start slower, not faster: decompression takes longer than the reads saved.
struct StoredPart {
  std::vector<uint8_t> bytes;
  Compression compression = Compression::kNone;
};
StoredPart CompressPart(std::span<const uint8_t> raw);

/// The raw bytes of a stored part. `stored` has passed its checksum already; a part that does not
/// decompress to exactly the size in the index is a DataError.
Result<std::vector<uint8_t>> DecompressPart(const ResidentLocation& location,
                                            std::span<const uint8_t> stored,
                                            const std::string& name);

/// Sizes in values of the tensors of a part, in stored order.
std::vector<uint64_t> ResidentTensorSizes(ResidentKind kind, const ModelShape& shape);

/// The bytes of the tensors of a part, by ResidentTensorSizes. Not for text.
Result<std::vector<std::span<const uint8_t>>> ResidentTensors(const ResidentLocation& location,
                                                              const ModelShape& shape,
                                                              std::span<const uint8_t> raw,
                                                              const std::string& name);

}  // namespace sti
