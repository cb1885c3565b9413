// The parts of a stored shard, and the codebook of its layer. A shard is stored progressively: its
// base holds the outliers and the two top planes of all codes, and each plane after it adds a bit,
// up to 6; full fidelity lies beside them and shares nothing with them (STI 4.2, stored once). A
// part is what can be read and checked alone. A weight that is no outlier is stored as a code of 6
// bits, whose top k bits are its code of k bits. A codebook gives each code of each length its
// value, the centroid of the weights that have it; in a scaled codebook that value is multiplied by
// a scale of the weight's hidden channel.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "types/bits.h"

namespace sti {

enum class PartKind : uint8_t { kBase, kPlane3, kPlane4, kPlane5, kPlane6, kFull };

inline constexpr std::array kPartKinds = {PartKind::kBase,   PartKind::kPlane3, PartKind::kPlane4,
                                          PartKind::kPlane5, PartKind::kPlane6, PartKind::kFull};

/// Returns the bits that a shard has once this part joins the ones before it: 2 for the base, then
/// 3 to 6; 32 for full fidelity.
constexpr uint32_t BitsOf(PartKind part) {
  return part == PartKind::kFull ? kFullBits : kLeastBits + static_cast<uint32_t>(part);
}

/// Returns the part that a shard at `bits` has and a shard at fewer bits lacks.
constexpr PartKind PartAt(uint32_t bits) {
  return bits == kFullBits ? PartKind::kFull : static_cast<PartKind>(bits - kLeastBits);
}

/// Returns true for the parts without which a shard cannot be computed at any bits: the base, and
/// full fidelity, which is computed from that part alone.
constexpr bool IsEssential(PartKind part) {
  return part == PartKind::kBase || part == PartKind::kFull;
}

/// A value for each kind of part.
template <typename T>
class PerPart {
 public:
  constexpr T& operator[](PartKind part) { return values_[static_cast<size_t>(part)]; }
  constexpr const T& operator[](PartKind part) const { return values_[static_cast<size_t>(part)]; }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::array<T, kPartKinds.size()> values_{};
};

/// A set of kinds of parts.
class PartSet {
 public:
  constexpr PartSet() = default;
  constexpr PartSet(PartKind part) : PartSet(1 << static_cast<int>(part)) {}

  /// Returns the parts that a shard at `bits` (2 to 6, or 32) consists of.
  static constexpr PartSet For(uint32_t bits) {
    const PartSet last = PartAt(bits);
    return bits == kFullBits ? last : PartSet(2 * last.set_ - 1);
  }

  [[nodiscard]] constexpr bool empty() const { return set_ == 0; }
  [[nodiscard]] constexpr bool Has(PartKind part) const { return Has(PartSet(part)); }
  [[nodiscard]] constexpr bool Has(PartSet others) const { return others.Without(*this).empty(); }
  [[nodiscard]] constexpr PartSet With(PartSet other) const { return PartSet(set_ | other.set_); }
  [[nodiscard]] constexpr PartSet Within(PartSet other) const { return PartSet(set_ & other.set_); }
  [[nodiscard]] constexpr PartSet Without(PartSet other) const {
    return PartSet(set_ & ~other.set_);
  }

  /// Returns the most bits, at most `wanted`, that a shard planned for `wanted` bits can be
  /// computed at from these parts; 0 if they do not suffice for any.
  [[nodiscard]] constexpr uint32_t UsableBits(uint32_t wanted) const {
    if (wanted == kFullBits) return Has(PartKind::kFull) ? kFullBits : 0;
    uint32_t usable = 0;
    for (uint32_t bits = kLeastBits; bits <= wanted && Has(PartAt(bits)); ++bits) usable = bits;
    return usable;
  }

  friend constexpr bool operator==(PartSet, PartSet) = default;

 private:
  constexpr explicit PartSet(int set) : set_(static_cast<uint8_t>(set)) {}
  uint8_t set_ = 0;  ///< bit i for the kind of value i
};

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
