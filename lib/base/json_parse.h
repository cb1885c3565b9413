// Parses JSON that may come from anywhere. A parser of whole values takes fifty bytes of memory for
// two of text where these are brackets, so 64 MiB of text would take gigabytes before anybody looks
// at it. Here each value is counted as it is read, and parsing ends where the budget does.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace sti {

/// The most memory that the values of one JSON text may take, in bytes.
inline constexpr uint64_t kMaxJsonMemory = uint64_t{256} << 20;

/// The fate of an object that has a name twice.
enum class EqualNames : uint8_t {
  kLastCounts,
  kRefused,  ///< readers differ in which one counts
};

/// Returns the value of a JSON text. A DataError, which has no place yet and the remedy
/// kCorrectFile, if it is not well-formed, nests deeper than kMaxJsonDepth, or its values would
/// take more than `memory` bytes; then they have not taken more, and the remedy is kUseBinaryForm.
/// Beside them a parser takes a few times the longest string.
Result<nlohmann::json> ParseJson(std::string_view text, uint64_t memory = kMaxJsonMemory,
                                 EqualNames equal_names = EqualNames::kLastCounts);

}  // namespace sti
