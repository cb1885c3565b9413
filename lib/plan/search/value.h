// Predicts what a plan is worth before anybody runs it, by a loss that is a sum over shards:
//
//   loss(n, m, bits) = L(n, m) + D(n, m) * (sum over its shards of w(shard) d(bits)) / (sum of w)
//
// L is the submodel's loss at full fidelity, and D what the fewest bits everywhere add to it; w
// says how much a shard matters, and d falls from 1 at the fewest bits to 0 at full fidelity. With
// an importance file that holds A(n, m) L and D are measured, and so is w where it holds gains.
// Else stand-ins order submodels and bits: L = -n sqrt(m), and fall-offs that agree with what was
// measured on the CLINC150 6x12 model (docs/guide/planning.md, "Worth: a loss that is a sum over
// shards").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "types/importance.h"
#include "types/plan.h"
#include "types/submodel.h"

namespace sti {

/// Predicts the losses of plans. Immutable; any number of threads may share one.
class ValueModel {
 public:
  /// `bits` are the levels, ascending; `order` all shards, most important first; `submodels` those
  /// that may be planned. `importance` may be null, and must agree with the catalog otherwise.
  ValueModel(std::span<const uint32_t> bits, std::span<const ShardId> order, uint32_t layers,
             uint32_t width, const Importance* importance, std::span<const Submodel> submodels);

  /// Returns whether A(n, m) of every submodel was measured, so that losses mean something to a
  /// person.
  [[nodiscard]] bool measured() const { return !submodels_.empty(); }

  /// Return L(n, m) and D(n, m).
  [[nodiscard]] double FullLoss(uint32_t depth, uint32_t width) const;
  [[nodiscard]] double Damage(uint32_t depth, uint32_t width) const;
  /// Returns w(shard).
  [[nodiscard]] double Weight(ShardId id) const {
    return weights_[size_t{id.layer} * width_ + id.slice];
  }
  /// Returns d(bits of the level).
  [[nodiscard]] double Lack(size_t level) const { return lacks_[level]; }
  /// Returns what SubmodelScore::accuracy is expected to be at `loss`, on the line between full
  /// fidelity and the fewest bits; nothing where it was not measured.
  [[nodiscard]] std::optional<double> Accuracy(uint32_t depth, uint32_t width, double loss) const;

 private:
  struct Measured {
    uint32_t depth = 0;
    uint32_t width = 0;
    double full_loss = 0;
    double damage = 0;
    double full_accuracy = 0;
    double low_accuracy = 0;
  };
  [[nodiscard]] const Measured* Find(uint32_t depth, uint32_t width) const;
  void ReadSubmodels(const Importance& importance, std::span<const Submodel> submodels);

  uint32_t width_;
  std::vector<double> lacks_;        ///< [levels]
  std::vector<double> weights_;      ///< [layers][width]
  std::vector<Measured> submodels_;  ///< by depth, then width
};

/// Returns what an importance's figures of a submodel of this model, measured or predicted, say of
/// its quality. `right` is what SubmodelScore::accuracy is by its metric: by kl the share of equal
/// labels, say.
PredictedQuality QualityOf(const Importance& importance, const ModelInfo& model, double loss,
                           std::optional<double> right);

/// Returns the figures of a quality but for the loss, as ", cosine 0.9876"; empty without any.
std::string Described(const PredictedQuality& quality);

/// Returns what a least accuracy bounds, as the importance measures it: "a cosine", and "cosine".
/// Without an importance, what one of the model would.
std::string QualityInWords(const CheckedInput& input);
std::string QualityName(const CheckedInput& input);

/// Returns kUsage if the importance tells the agreement with the full model where an accuracy is
/// asked for, or the other way round.
Status CheckQualityIsKnown(const CheckedInput& input, const PlanRequest& request);

/// Returns what a least accuracy is held against; nothing where it was not measured. The request
/// passes CheckQualityIsKnown.
std::optional<double> QualityReached(const PredictedQuality& quality, const PlanRequest& request);

/// Predicts the quality of a plan at `bits`, [n, m] as plan.bits. The plan must belong to the
/// catalog.
PredictedQuality PredictQuality(const CheckedInput& input, const PlanCore& plan,
                                const Grid<uint32_t>& bits);

}  // namespace sti
