// Gaussian outlier-aware quantisation of one layer (STI 4.2 and 6, made exact).
//
// All weights of a layer are one population. Weights that the fitted Gaussian finds improbable are
// outliers, kept as they are. The others are cut, in order of value, into 64 clusters whose first
// boundaries are also those of 32, 16, 8 and 4 clusters: the k-bit code of a weight is the top k
// bits of its 6-bit code, and only the centroids differ between bitwidths.
//
// Weights of one layer differ in spread by hidden channel, and one codebook a layer fits them
// better once each is divided by the spread of its channel. A channel is a column of Q, K, V and
// FFN1, whose inputs it is, and a row of O and FFN2, whose outputs it is. So a shard's slice of a
// matrix needs the same scales as the whole matrix.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "shard/parts.h"
#include "types/bits.h"
#include "types/model_info.h"

namespace sti {

struct QuantizedLayer {
  Codebook codebook;
  std::vector<uint8_t> codes;      ///< [weights] 6-bit codes; 0 for outliers
  std::vector<uint32_t> outliers;  ///< flat indexes, ascending
};

/// The Gaussian of `weights` and the rule that makes a weight an outlier of it.
struct OutlierRule {
  double mean = 0;
  double variance = 1;          ///< with the 1e-6 that scikit-learn's GaussianMixture adds
  double peak_log_density = 0;  ///< natural logarithm of the density at the mean
  [[nodiscard]] bool IsOutlier(float weight) const;
};
OutlierRule FitOutlierRule(std::span<const float> weights);

/// A weight that is further than this from 0, after the division by its channel's root mean square,
/// is an outlier of kScaledTree.
inline constexpr float kScaledOutlierDistance = 3.0F;

/// Quantises a layer: Q, K, V, O, FFN1, FFN2 one after the other, each row-major; for kScaledTree
/// divided by their scales already, which the caller puts into the codebook. All finite; fewer than
/// 2^32. Deterministic: the same result on every machine. Thread-safe.
QuantizedLayer QuantizeLayer(std::span<const float> weights, CodebookKind kind);

inline constexpr uint32_t kClusters = 64;

/// Cluster c is the ranks [boundaries[c], boundaries[c + 1]). Cluster j of 2^k is clusters
/// [j * 2^(6-k), (j + 1) * 2^(6-k)) of these.
using Boundaries = std::array<uint64_t, kClusters + 1>;

/// Returns boundaries of equal population (STI 6): boundary j is floor(j * count / 64).
Boundaries EqualPopulation(uint64_t count);

/// Returns boundaries by nested Lloyd over sorted keys: four clusters first, each split in two
/// until there are 64. Equal values are never parted.
Boundaries NestedLloyd(std::span<const uint32_t> sorted_keys);

/// Returns a key of a float that sorts as it does, and the float of a key; -0 and +0 have one key.
uint32_t SortKey(float value);
float ValueOfKey(uint32_t key);

/// Sorts `keys` ascending. Least significant digit first, so that time does not depend on values.
void SortKeys(std::vector<uint32_t>& keys);

/// Returns hidden scales [matrices of a layer, d]: for each matrix the root mean square of each
/// hidden channel's weights, rounded to bfloat16; 1 where that is not above 0. `weights`: a layer
/// as in QuantizeLayer, finite. Each sum runs in one order, so that any machine gives the same
/// numbers. Thread-safe.
std::vector<float> FitHiddenScales(std::span<const float> weights, const ModelShape& shape);

/// Divides each weight by the scale of its channel.
void DivideByHiddenScales(std::span<const float> scales, const ModelShape& shape,
                          std::span<float> weights);

}  // namespace sti
