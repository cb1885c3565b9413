// The importance file, binary or JSON (spec/importance.md). Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/json_writer.h"
#include "format/unknown_keys.h"
#include "types/importance.h"

namespace sti {

/// Reads either spelling. kData naming `name` and what is wrong.
Result<Importance> ParseImportance(std::span<const uint8_t> bytes, const std::string& name);

/// The same, and adds the fields of the JSON spelling that are unknown; `unknown` may be null.
Result<Importance> ParseImportanceNoting(std::span<const uint8_t> bytes, const std::string& name,
                                         UnknownKeys* unknown);

/// The binary spelling. The same bytes for the same value.
std::vector<uint8_t> EncodeImportance(const Importance& importance);

/// Writes the JSON spelling as ImportanceToJson gives it, in pieces: what is written takes no
/// memory.
void WriteImportanceJson(const Importance& importance, const TextSink& sink);

/// The JSON spelling, with `rank` derived from scores and losses. The same bytes for the same
/// value.
std::string ImportanceToJson(const Importance& importance);

}  // namespace sti
