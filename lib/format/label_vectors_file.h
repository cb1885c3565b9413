// Label vectors as a file (spec/label-vectors.md), binary only. Functions are thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "types/label_vectors.h"

namespace sti {

/// Returns whether a file begins as label vectors do, which no text does.
bool IsLabelVectors(std::span<const uint8_t> bytes);

/// Reads label vectors that keep all rules. Errors are those of FindPayload, and a DataError naming
/// `name` and what is wrong.
Result<LabelVectors> ParseLabelVectors(std::span<const uint8_t> bytes, const std::string& name);

/// Encodes label vectors: the same bytes for the same value. InfeasibleError if they are more than
/// such a file may hold.
Result<std::vector<uint8_t>> EncodeLabelVectors(const LabelVectors& vectors);

/// Returns label vectors without their numbers as JSON, for people and scripts: no reader takes it.
std::string LabelVectorsToJson(const LabelVectors& vectors);

}  // namespace sti
