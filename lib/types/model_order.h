// The layers that a submodel of each depth executes, and the order of a model's heads and neurons
// by what they are worth (STI 4.1): so that of a plain model, which was never trained in parts, the
// first slices of a layer are those to keep, and each depth executes the layers to keep.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sti {

/// Has a row for each depth: row n-1 names the n layers that a depth of n executes, ascending.
using DepthMap = std::vector<std::vector<uint32_t>>;

/// Returns whether a row names `depth` layers of a model of so many `layers`, ascending.
bool IsDepthRow(std::span<const uint32_t> row, size_t depth, uint32_t layers);

/// Returns whether a map has the row of each depth of a model of so many layers.
bool IsDepthMap(const DepthMap& map, uint32_t layers);

/// Returns 0 to depth-1, the row of a model that says nothing of its depths.
std::vector<uint32_t> FirstLayers(uint32_t depth);

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
