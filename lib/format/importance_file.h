// The importance file in its two spellings, binary and JSON (spec/importance.md). Equal values give
// equal bytes in either. Functions are thread-safe.
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

/// Reads a file of either spelling. Errors are those of FindPayload, and a DataError naming `name`
/// for what breaks a rule of the document.
Result<Importance> ParseImportance(std::span<const uint8_t> bytes, const std::string& name);

/// Does the same, and adds to `unknown`, which may be null, the fields of a JSON file that this
/// version does not know.
Result<Importance> ParseImportanceNoting(std::span<const uint8_t> bytes, const std::string& name,
                                         UnknownKeys* unknown);

/// Returns the binary spelling.
std::vector<uint8_t> EncodeImportance(const Importance& importance);

/// Gives the text that ImportanceToJson returns to `sink` piece by piece, so that it never takes
/// the memory of all of it.
void WriteImportanceJson(const Importance& importance, const TextSink& sink);

/// Returns the JSON spelling. Its field `rank` is computed from scores and losses.
std::string ImportanceToJson(const Importance& importance);

}  // namespace sti
