// A part of an importance (spec/importance-part.md), binary only. Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "types/importance_part.h"

namespace sti {

bool IsImportancePart(std::span<const uint8_t> bytes);

/// Reads a part. Errors are those of FindPayload, and a DataError naming `name` and what is wrong.
Result<ImportancePart> ParseImportancePart(std::span<const uint8_t> bytes, const std::string& name);

/// Encodes a part: the same bytes for the same value.
std::vector<uint8_t> EncodeImportancePart(const ImportancePart& part);

/// Returns a part without its tallies as JSON, for people and scripts: no reader takes it.
std::string ImportancePartToJson(const ImportancePart& part);

}  // namespace sti
