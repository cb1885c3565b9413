// The bytes of a shard's parts (spec/container.md, "Shard parts"): written by the two encoders,
// viewed in place by ViewShard.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/container_index.h"
#include "shard/parts.h"
#include "shard/view.h"

namespace sti {

/// One outlier of a shard: where it stands in weight order, and its bytes in the source's type.
struct ShardOutlier {
  uint32_t position = 0;
  uint32_t raw = 0;  ///< 4 or 2 bytes, little endian
};

/// Returns the base part: outliers, then the two top bit planes of `codes` (6-bit, weight order).
/// `outliers` ascend by position.
std::vector<uint8_t> EncodeShardBase(std::span<const uint8_t> codes,
                                     std::span<const ShardOutlier> outliers, DataType type);

/// Returns the part of one plane: bit (6 - `bits`) of each code, for 3 to 6 bits.
std::vector<uint8_t> EncodeShardPlane(std::span<const uint8_t> codes, uint32_t bits);

/// Looks at loaded parts as a shard of `bits`: `parts` has the bytes of each kind, 64-byte
/// aligned except full fidelity (16), those that `bits` needs present. Checks every number of the
/// base part, outliers too; full-fidelity weights may hold what is not finite. `parts` and
/// `codebook` outlive the view.
Result<ShardView> ViewShard(const ModelInfo& info, const Codebook& codebook, uint32_t bits,
                            const PerPart<std::span<const uint8_t>>& parts,
                            const std::string& name);

/// Fails (data) if an outlier of a coded shard has another code than 0: kernels put outliers as
/// differences from that. Takes longer than ViewShard.
Status CheckOutlierCodes(const ShardView& shard, const std::string& name);

}  // namespace sti
