// Weights in order, in which clusters are found: a radix sort, as a layer has millions of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sti {

/// Order-preserving key of a float; -0 and +0 have the same one.
uint32_t SortKey(float value);
float ValueOfKey(uint32_t key);

/// Sorts `keys` ascending. Least significant digit first, so that time does not depend on values.
void SortKeys(std::vector<uint32_t>& keys);

}  // namespace sti
