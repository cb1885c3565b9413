// The importance file, binary or JSON (spec/importance.md). Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "types/importance.h"

namespace sti {

/// Reads either spelling. kData naming `name` and what is wrong.
Result<Importance> ParseImportance(std::span<const uint8_t> bytes, const std::string& name);

/// The binary spelling. The same bytes for the same value.
std::vector<uint8_t> EncodeImportance(const Importance& importance);

/// The JSON spelling, with `rank` derived from scores and losses. The same bytes for the same
/// value.
std::string ImportanceToJson(const Importance& importance);

}  // namespace sti
