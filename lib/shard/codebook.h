// The codebook of a layer: what the codes of its weights stand for.
//
// A weight that is no outlier is stored as a code of 6 bits, whose top k bits are its code of k
// bits. A codebook gives each code of each length its value, the centroid of the weights that have
// it; in a scaled codebook that value is multiplied by a scale of the weight's hidden channel.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "types/bits.h"

namespace sti {

/// How the clusters of a codebook were found.
enum class CodebookKind : uint8_t {
  kGobo = 0,        ///< clusters of equal population (the paper's)
  kTree = 1,        ///< Lloyd's algorithm to 4 clusters, then each split in two by Lloyd, to 64
  kScaledTree = 2,  ///< kTree's clusters, of weights divided by the scale of their hidden channel
};

/// The centroids of one layer: 2^k floats for each k = 2..6; an empty cluster's is 0.
struct Codebook {
  std::array<std::vector<float>, kMostBits + 1> centroids;  ///< [bits]; 0 and 1 stay empty
  /// [6, hidden], a scale for each hidden channel of each matrix in weight order; empty but for
  /// kScaledTree.
  std::vector<float> scales;
};

}  // namespace sti
