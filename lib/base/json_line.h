// JSON in one line, as it is written for programs that read it: results of tools, records of
// evaluations.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace sti {

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
