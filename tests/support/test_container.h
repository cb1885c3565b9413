// Containers of tiny models, whole and damaged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/model_folder.h"
#include "import/shard_model.h"
#include "kernels/decode.h"
#include "tiny_model.h"

namespace sti {

/// Writes the folder `path`.model and shards it to `path`.
Result<ShardReport> WriteTinyContainer(const std::string& path, const TinyModelOptions& model = {},
                                       const ShardOptions& options = {});

std::vector<uint8_t> FileBytes(const std::string& path);

/// Flips bits of one byte in place.
Status DamageByte(const std::string& path, uint64_t offset, uint8_t mask = 0x10);

}  // namespace sti
