#include "plan/search/cascade_choice.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/remedy.h"
#include "plan/text.h"

namespace sti {
namespace {

/// Accuracies closer than this are equal.
constexpr double kSameAccuracy = 1e-9;

/// So many standard errors count against a cascade. The fastest of some thousand cuts that are
/// accurate enough on the measured examples is one that chance has favoured (the one-standard-error
/// rule: Breiman et al., Classification and Regression Trees, 1984, 3.4.3).
constexpr double kErrors = 1;

/// Returns the accuracy that may be counted on with other examples than the measured ones.
double SafeAccuracy(const CascadeCut& cut) {
  return std::max(0.0, cut.accuracy - kErrors * cut.difference_error);
}

/// Returns a share rounded down to four digits, so that what has it has no less.
std::string FloorOf(double share) { return Fixed4(std::floor(share * 1e4 + 1e-6) / 1e4); }

bool IsBetter(const CascadeCandidate& a, const CascadeCandidate& b) {
  if (a.mean_us != b.mean_us) return a.mean_us < b.mean_us;
  if (std::abs(a.cut->accuracy - b.cut->accuracy) > kSameAccuracy)
    return a.cut->accuracy > b.cut->accuracy;
  if (a.cascade->levels.size() != b.cascade->levels.size())
    return a.cascade->levels.size() < b.cascade->levels.size();
  return a.score->alpha > b.score->alpha;
}

/// Returns the best cut of one pair or triple that reaches an accuracy; nothing if none does.
std::optional<CascadeCandidate> BestCut(const MeasuredCascades& measured,
                                        const PricedCascade& cascade, double least_accuracy) {
  std::optional<CascadeCandidate> best;
  for (const CascadeScore* score : cascade.scores) {
    for (const CascadeCut& cut : score->cuts) {
      if (SafeAccuracy(cut) < least_accuracy - kSameAccuracy) continue;
      const CascadeCandidate candidate = measured.Candidate(cascade, *score, cut);
      if (!best || IsBetter(candidate, *best)) best = candidate;
    }
  }
  return best;
}

/// Returns the best accuracy of a cascade that may be asked for.
double BestAccuracy(const PricedCascade& cascade) {
  double best = 0;
  for (const CascadeScore* score : cascade.scores) {
    for (const CascadeCut& cut : score->cuts) best = std::max(best, SafeAccuracy(cut));
  }
  return best;
}

void SayCascade(const MeasuredCascades& measured, const PricedCascade& cascade,
                const std::optional<CascadeCandidate>& best) {
  if (measured.context().explain == nullptr) return;
  const CascadeFigures& figures = cascade.figures;
  std::string line = "cascade: " + measured.NameOf(cascade) + ": " + Ms(figures.path_us.front());
  for (size_t i = 1; i < figures.path_us.size(); ++i) line += ", " + Ms(figures.path_us[i]);
  line += " to each level's label, p99 " + Ms(figures.worst_path_us) + "; ";
  if (!cascade.feasible) {
    line += figures.problem.empty() ? "the last level alone is late" : figures.problem;
  } else if (!best) {
    line += "none of its cuts is accurate enough, the best has " + FloorOf(BestAccuracy(cascade));
  } else {
    line += "mean " + Ms(best->mean_us) + " with accuracy " + Fixed4(best->cut->accuracy) +
            ", less a standard error " + Fixed4(SafeAccuracy(*best->cut));
  }
  measured.context().Say(line);
}

/// Returns the target that a cascade keeps, last level alone included.
double TargetOf(const PricedCascade& cascade) {
  return std::max(cascade.figures.deciding_us, cascade.last_us);
}

/// Cascades that cannot be planned, and what they would take or give.
struct Offers {
  double best_accuracy = 0;              ///< of all
  std::optional<double> feasible_best;   ///< of those that keep target and memory
  const PricedCascade* least = nullptr;  ///< of those accurate enough that memory holds, by time
  std::optional<uint64_t> least_bytes;   ///< of those accurate enough
};

Offers OffersOf(const MeasuredCascades& measured, double least_accuracy) {
  Offers offers;
  for (const PricedCascade& cascade : measured.all()) {
    const double accuracy = BestAccuracy(cascade);
    offers.best_accuracy = std::max(offers.best_accuracy, accuracy);
    if (cascade.feasible)
      offers.feasible_best = std::max(offers.feasible_best.value_or(0), accuracy);
    if (!BestCut(measured, cascade, least_accuracy)) continue;
    const uint64_t bytes = std::max(cascade.figures.peak_bytes,
                                    measured.Alone(cascade.levels.back()).predicted_peak_bytes);
    offers.least_bytes = std::min(offers.least_bytes.value_or(bytes), bytes);
    const bool fits = bytes <= measured.context().terms.judging.memory_bytes.value_or(bytes);
    const bool sooner = offers.least == nullptr || TargetOf(cascade) < TargetOf(*offers.least);
    if (fits && cascade.figures.fits_memory && sooner) offers.least = &cascade;
  }
  return offers;
}

/// Returns " of an accuracy of 0.9000", as messages go on; nothing where any accuracy will do.
std::string WantedBy(const PlanRequest& request, double least_accuracy) {
  if (least_accuracy <= 0) return "";
  return " of an accuracy of " + Fixed4(least_accuracy) +
         (request.min_accuracy ? "" : ", that of the best plan without a cascade,");
}

/// Returns an error if the last level alone is neither slower than the fastest cascade nor less
/// accurate, which is so where hardly an input returns early. Then it beats all other cascades too.
Status CheckIsOfUse(const MeasuredCascades& measured, double least_accuracy,
                    const CascadeCandidate& fastest) {
  const uint32_t last = fastest.cascade->levels.back();
  const Plan& alone = measured.Alone(last);
  const bool as_fast = alone.predicted_latency_us <= fastest.mean_us;
  if (!as_fast || measured.Score(last).accuracy < fastest.cut->accuracy - kSameAccuracy) return {};
  return InfeasibleError("no cascade" + WantedBy(measured.context().request, least_accuracy) +
                         " is faster than its last level alone: " +
                         measured.NameOf(*fastest.cascade) + " takes " + Ms(fastest.mean_us) +
                         " in the mean, and alone " + Ms(alone.predicted_latency_us))
      .Fix(Remedy::kDropFromRequest, "cascade");
}

}  // namespace

void SayChoice(const MeasuredCascades& measured, const CascadeCandidate& choice) {
  if (measured.context().explain == nullptr) return;
  const CascadeCut& cut = *choice.cut;
  std::string line = "cascade: " + measured.NameOf(*choice.cascade) + " is taken: c " +
                     Fixed4(cut.cutoff) + (cut.slope ? ", k " + Fixed3(*cut.slope) : "") +
                     ", alpha " + Fixed3(choice.score->alpha) + ", w";
  for (const double weight : cut.weights) line += " " + Fixed3(weight);
  line += "; returns";
  for (size_t i = 0; i + 1 < cut.shares.size(); ++i)
    line += (i == 0 ? " " : ", then ") + FixedPoint(cut.shares[i] * 100, 1) + " %";
  measured.context().Say(line + "; mean " + Ms(choice.mean_us) + ", accuracy " +
                         Fixed4(cut.accuracy));
}

Error NoCascade(const MeasuredCascades& measured, double least_accuracy) {
  const PlanRequest& request = measured.context().request;
  const Offers offers = OffersOf(measured, least_accuracy);
  const std::string wanted = WantedBy(request, least_accuracy);
  if (!offers.least_bytes) {
    return InfeasibleError("no cascade" + wanted + " was measured; the best has " +
                           FloorOf(offers.best_accuracy))
        .Fix(Remedy::kGiveInRequest,
             "min_accuracy " + FloorOf(offers.feasible_best.value_or(offers.best_accuracy)));
  }
  const std::string instead =
      offers.feasible_best ? ", or give min_accuracy " + FloorOf(*offers.feasible_best) : "";
  if (offers.least == nullptr) {
    return InfeasibleError("no cascade" + wanted + " fits in the memory asked for: the " +
                           "smallest needs " + std::to_string(*offers.least_bytes) + " bytes")
        .Fix(Remedy::kRaiseInRequest, "memory_bytes" + instead);
  }
  return InfeasibleError("no cascade" + wanted + " meets " +
                         Ms(*measured.context().terms.target_us) + ": " +
                         measured.NameOf(*offers.least) + " takes " +
                         MsUp(TargetOf(*offers.least)) + " through all levels")
      .Fix(Remedy::kRaiseInRequest, "target_us" + instead);
}

Result<CascadeCandidate> FastestCascade(const MeasuredCascades& measured, double least_accuracy) {
  std::optional<CascadeCandidate> best;
  for (const PricedCascade& cascade : measured.all()) {
    const std::optional<CascadeCandidate> its_own = BestCut(measured, cascade, least_accuracy);
    SayCascade(measured, cascade, its_own);
    if (!cascade.feasible || !its_own) continue;
    if (!best || IsBetter(*its_own, *best)) best = its_own;
  }
  if (!best) return NoCascade(measured, least_accuracy);
  STI_RETURN_IF_ERROR(CheckIsOfUse(measured, least_accuracy, *best));
  SayChoice(measured, *best);
  return *best;
}

}  // namespace sti
