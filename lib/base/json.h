// JSON read from anywhere, and written in one line. A parser of whole values takes fifty bytes of
// memory for two of text where these are brackets, so 64 MiB of text would take gigabytes before
// anybody looks at it: here each value is counted as it is read, and parsing ends where the budget
// does. Parsers, copies and printers of JSON tend to recurse once a level, so a file of brackets
// could use up the stack: depth is checked first. So are NUL bytes, which the parser that is used
// here takes for the end of the text, whatever stands behind them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
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

/// The deepest nesting that is accepted. The formats of this project nest at most 6 levels, files
/// that other programs write a few more.
inline constexpr int kMaxJsonDepth = 64;

/// Returns whether brackets outside of strings nest deeper than kMaxJsonDepth. `text` may be any
/// bytes.
bool JsonIsTooDeep(std::string_view text);

/// Returns whether a byte of `text` is NUL, which JSON has nowhere: in a string it is spelled
/// \u0000.
bool HasNulByte(std::string_view text);

/// Returns the value as JSON; null where there is none.
template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

/// Returns a value in one line, without its end. An input, a path or an argument may hold any
/// bytes: those that are not UTF-8 become U+FFFD.
inline std::string JsonLine(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sti
