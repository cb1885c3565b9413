#include "types/depth_map.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace sti {

bool IsDepthRow(std::span<const uint32_t> row, size_t depth, uint32_t layers) {
  const bool ascending =
      std::adjacent_find(row.begin(), row.end(), std::greater_equal<>()) == row.end();
  return row.size() == depth && ascending && (row.empty() || row.back() < layers);
}

bool IsDepthMap(const DepthMap& map, uint32_t layers) {
  if (map.size() != layers) return false;
  for (size_t row = 0; row < map.size(); ++row) {
    if (!IsDepthRow(map[row], row + 1, layers)) return false;
  }
  return true;
}

std::vector<uint32_t> FirstLayers(uint32_t depth) {
  std::vector<uint32_t> layers(depth);
  std::iota(layers.begin(), layers.end(), 0U);
  return layers;
}

}  // namespace sti
