// Doubts about a device profile: what keeps all rules and yet may be a slip of whoever wrote it by
// hand, such as milliseconds where microseconds belong, or the figures of another model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "types/device_profile.h"
#include "types/model_info.h"

namespace sti {

/// Returns sentences about the speeds that a profile has for a model of this shape, whose shards
/// have `shard_weights` weights each: of the fastest layer if it computes more than 1 TFLOP/s a
/// thread, of the slowest if it computes less than 50 MFLOP/s. The profile keeps its rules
/// (types/profile_check.h).
std::vector<std::string> DoubtsAbout(const DeviceProfile& profile, const ModelShape& shape,
                                     uint64_t shard_weights);

}  // namespace sti
