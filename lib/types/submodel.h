// A submodel is a smaller model inside a model: n of its layers, m slices of each (STI 4.1).
#pragma once

#include <cstdint>
#include <string>

namespace sti {

struct Submodel {
  uint32_t depth = 0;  ///< n
  uint32_t width = 0;  ///< m
  [[nodiscard]] uint64_t shards() const { return uint64_t{depth} * width; }
  friend bool operator==(const Submodel&, const Submodel&) = default;
};

/// Returns a submodel's name n x m, as "5x3" for 5 layers of 3 slices.
inline std::string NameOf(const Submodel& submodel) {
  return std::to_string(submodel.depth) + "x" + std::to_string(submodel.width);
}

/// Returns the name of a submodel that has all its shards at `bits`, as "5x3@4".
inline std::string NameOf(const Submodel& submodel, uint32_t bits) {
  return NameOf(submodel) + "@" + std::to_string(bits);
}

}  // namespace sti
