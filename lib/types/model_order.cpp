#include "types/model_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "types/limits.h"

namespace sti {
namespace {

/// Whether each row of so many numbers has each number below that once.
bool HasPermutations(std::span<const uint32_t> rows, size_t columns) {
  std::vector<bool> seen(columns);
  for (size_t at = 0; at < rows.size(); at += columns) {
    std::fill(seen.begin(), seen.end(), false);
    for (const uint32_t number : rows.subspan(at, columns)) {
      if (number >= columns || seen[number]) return false;
      seen[number] = true;
    }
  }
  return true;
}

}  // namespace

std::string ProblemOfOrder(const ModelOrder& order, uint32_t layers, uint32_t width) {
  if (order.heads.size() != size_t{layers} * width || !HasPermutations(order.heads, width))
    return "head_order is not layers rows that have each head once";
  const size_t neurons = order.neurons.size() / layers;
  const bool sized = order.neurons.size() % layers == 0 && neurons % width == 0 && neurons > 0 &&
                     neurons <= kMaxFfn;
  if (!sized || !HasPermutations(order.neurons, neurons))
    return "neuron_order is not layers rows that have each neuron once";
  if (!IsDepthMap(order.depth_layers, layers))
    return "depth_layers is not a row for each depth n of n layers, ascending";
  return "";
}

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
