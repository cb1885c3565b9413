// The cascades that an importance file has measured, as plans for one scope: every pair or triple
// of levels that the container and the request allow, priced once. Cuts of one pair or triple share
// its prices, since they run equal submodels; they differ in the shares that return early. Here a
// level is a cascade level.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/cascade_price.h"
#include "plan/search/context.h"
#include "types/importance.h"
#include "types/plan.h"

namespace sti {

/// Two or three measured levels one behind the other.
struct PricedCascade {
  std::vector<uint32_t> levels;             ///< indexes of Importance::cascade_levels, ascending
  std::vector<const CascadeScore*> scores;  ///< what was measured of them, by rising alpha
  CascadeFigures figures;                   ///< as if no level returned anything early
  double last_us = 0;  ///< the last level alone takes with this staging, by the risk that decides
  /// Whether the last level alone, and a path through all, keep target and memory.
  bool feasible = false;
};

/// One cut of a cascade, which a plan may have.
struct CascadeCandidate {
  const PricedCascade* cascade = nullptr;
  const CascadeScore* score = nullptr;
  const CascadeCut* cut = nullptr;
  double mean_us = 0;  ///< from the text to the label, by medians
};

/// Returns kUsage if the model gives no single label or there is no importance, and kForeign if
/// that has no cascades.
Status CheckCascadesAreMeasured(const CheckedInput& input);

/// All measured cascades of one scope, priced. The context outlives it.
class MeasuredCascades {
 public:
  /// Returns why no cascade can be planned, if none can: kForeign if the container lacks the bits
  /// of the levels, kUsage or kInfeasible if profile or request do not allow their submodels.
  static Result<MeasuredCascades> Make(const PlanningContext& context);

  /// Returns all that may be planned, in the order of their levels; at least one.
  [[nodiscard]] const std::vector<PricedCascade>& all() const { return all_; }
  /// Returns a measured level as a plan made alone, with its figures; the request allows it.
  [[nodiscard]] const Plan& Alone(uint32_t level) const { return *members_[level].plan; }
  /// Returns a measured level's score.
  [[nodiscard]] const CascadeLevelScore& Score(uint32_t level) const;
  /// Returns the best accuracy of a measured level that alone keeps target and memory.
  [[nodiscard]] std::optional<double> BestAlone() const;
  [[nodiscard]] CascadeCandidate Candidate(const PricedCascade& cascade, const CascadeScore& score,
                                           const CascadeCut& cut) const;
  /// Returns the plan of a candidate, with all figures.
  [[nodiscard]] Plan PlanOf(const CascadeCandidate& candidate) const;
  /// Returns "2x3 at 4 bits, then 6x12 at 6 bits".
  [[nodiscard]] std::string NameOf(const PricedCascade& cascade) const;
  [[nodiscard]] const PlanningContext& context() const { return *context_; }

 private:
  /// A measured level, or why it cannot be planned.
  struct Member {
    std::optional<Plan> plan;
    std::optional<Error> problem;
  };

  explicit MeasuredCascades(const PlanningContext& context);

  [[nodiscard]] Result<Plan> PlanAlone(const CascadeLevelScore& score) const;
  /// Returns the plan of these levels, none of which returns anything early. The last level has its
  /// figures, with the staging that the levels before it leave.
  [[nodiscard]] Plan Assemble(const std::vector<uint32_t>& levels) const;
  /// Returns why a cascade cannot be planned; nothing if it can.
  [[nodiscard]] std::optional<Error> ProblemOf(const CascadeScore& score) const;
  void Price();

  const PlanningContext* context_;
  std::vector<Member> members_;  ///< as Importance::cascade_levels
  std::vector<PricedCascade> all_;
};

}  // namespace sti
