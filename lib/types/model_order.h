// The order of a model's heads and neurons by what they are worth (STI 4.1): so that of a plain
// model, which was never trained in parts, the first slices of a layer are those to keep, and each
// depth executes the layers to keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "types/depth_map.h"

namespace sti {

/// Says which head and which neuron of the model as published stands at each place, the best
/// first, and which layers each depth executes.
struct ModelOrder {
  std::vector<uint32_t> heads;    ///< [layers, M] row-major
  std::vector<uint32_t> neurons;  ///< [layers, f] row-major
  DepthMap depth_layers;
  [[nodiscard]] bool empty() const { return heads.empty(); }
  friend bool operator==(const ModelOrder&, const ModelOrder&) = default;
};

/// Returns what is wrong with an order that is not empty, of a model of so many layers and heads;
/// empty if nothing is.
std::string ProblemOfOrder(const ModelOrder& order, uint32_t layers, uint32_t width);

}  // namespace sti
