// Parses safetensors files: a JSON header that names tensors, then their bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "import/weight_file.h"

namespace sti {

inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;
inline constexpr uint64_t kMaxTensors = uint64_t{1} << 20;

/// Returns the tensors of `file`, whose name is `path` for messages. DataError for a file whose
/// header is not sound, or whose tensors overlap or lie outside it. Pure.
Result<ParsedWeights> ParseSafetensors(const std::string& path, std::span<const uint8_t> file);

}  // namespace sti
