// The 64 clusters of a layer begin at boundaries, which are ranks in the sorted order of its
// weights. The order comes of a radix sort, as a layer has millions of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace sti {

inline constexpr uint32_t kClusters = 64;

/// Cluster c is the ranks [boundaries[c], boundaries[c + 1]). Cluster j of 2^k is clusters
/// [j * 2^(6-k), (j + 1) * 2^(6-k)) of these.
using Boundaries = std::array<uint64_t, kClusters + 1>;

/// floor(j * count / 64): equal population (STI 6).
Boundaries EqualPopulation(uint64_t count);

/// Nested Lloyd over sorted keys: four clusters first, each split in two until there are 64. Equal
/// values are never parted.
Boundaries NestedLloyd(std::span<const uint32_t> sorted_keys);

/// Order-preserving key of a float; -0 and +0 have the same one.
uint32_t SortKey(float value);
float ValueOfKey(uint32_t key);

/// Sorts `keys` ascending. Least significant digit first, so that time does not depend on values.
void SortKeys(std::vector<uint32_t>& keys);

}  // namespace sti
