// JSON values that several tools write.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace sti {

/// Returns the value as JSON; null where there is none.
template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace sti
