// A depth map says which layers of a model a submodel of each depth executes (STI 4.1).
#pragma once

#include <cstdint>
#include <span>
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

}  // namespace sti
