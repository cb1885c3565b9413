#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "base/remedy.h"
#include "plan/search/cascade_choice.h"
#include "plan/text.h"

namespace sti {
namespace {

constexpr double kSame = 1e-9;  // numbers of a file closer than this are equal
constexpr int kFirstCutoff = 19;
constexpr double kCutoffStep = 0.05;
constexpr double kFirstAlpha = 0.5;
constexpr double kAlphaStep = 0.1;
constexpr double kMostLost = 0.02;  // of the last level's accuracy, by pruning
constexpr double kQuantile = 0.75;
constexpr double kMostOverSlowest = 1.5;

/// Cuts of one row that differ in c alone, by falling c.
using Series = std::vector<const CascadeCut*>;

/// Returns the series of each slope, a hard cut first: those whose ensembles weigh by accuracy, or
/// where a slope has none the others.
std::map<double, Series> SeriesOf(const CascadeScore& score) {
  std::map<double, Series> weighing;
  std::map<double, Series> series;
  for (const CascadeCut& cut : score.cuts) {
    const double slope = cut.slope.value_or(0);
    series[slope].push_back(&cut);
    if (cut.HasEnsemble()) weighing[slope].push_back(&cut);
  }
  for (auto& [slope, cuts] : series) {
    if (weighing.contains(slope)) cuts = weighing[slope];
    std::stable_sort(cuts.begin(), cuts.end(), [](const CascadeCut* a, const CascadeCut* b) {
      return a->cutoff > b->cutoff;
    });
  }
  return series;
}

/// Returns the rows by which alpha goes: none, then from 0.5 up by 0.1 at least.
std::vector<const CascadeScore*> RowsOf(const PricedCascade& cascade) {
  std::vector<const CascadeScore*> rows;
  double next = kFirstAlpha;
  for (const CascadeScore* score : cascade.scores) {
    if (score->alpha != 0 && score->alpha < next - kSame) continue;
    rows.push_back(score);
    if (score->alpha != 0) next = score->alpha + kAlphaStep;
  }
  return rows;
}

/// Goes through the cuts of one pair or triple as the heuristic does.
class Walk {
 public:
  Walk(const MeasuredCascades& measured, const PricedCascade& cascade)
      : measured_(measured), cascade_(cascade), rows_(RowsOf(cascade)) {
    for (const uint32_t level : cascade.levels) {
      mean_accuracy_ += measured.Score(level).accuracy / static_cast<double>(cascade.levels.size());
      slowest_us_ = std::max(slowest_us_, measured.Alone(level).predicted_latency_us);
    }
  }

  [[nodiscard]] bool RisesInAccuracy() const {
    const std::vector<uint32_t>& levels = cascade_.levels;
    const auto falls = [&](uint32_t a, uint32_t b) {
      return measured_.Score(a).accuracy >= measured_.Score(b).accuracy;
    };
    return std::adjacent_find(levels.begin(), levels.end(), falls) == levels.end();
  }

  /// Returns the candidates that are left.
  std::vector<CascadeCandidate> Run() {
    if (rows_.empty()) return {};
    for (const auto& [slope, cuts] : SeriesOf(*rows_.front())) {
      const CascadeCut* before = nullptr;
      for (int step = kFirstCutoff; step > 0; --step) {
        const auto next = std::find_if(cuts.begin(), cuts.end(), [&](const CascadeCut* cut) {
          return cut->cutoff <= step * kCutoffStep + kSame;
        });
        if (next == cuts.end()) break;
        if (*next == before) continue;
        before = *next;
        if (before->accuracy < mean_accuracy_ - kSame) break;
        Prune(*before);
      }
    }
    return std::move(kept_);
  }

 private:
  /// Keeps a cut of the first row, and those of the others that prune more, as far as alpha goes.
  void Prune(const CascadeCut& first) {
    for (const CascadeScore* row : rows_) {
      const CascadeCut* cut = Like(first, *row);
      if (cut == nullptr) continue;
      const bool answers = cut->shares.back() > 0;
      if (answers && first.accuracies.back() - cut->accuracies.back() > kMostLost + kSame) return;
      if (cut->accuracy < mean_accuracy_ - kSame) return;
      if (QuantilePath(*cut) > kMostOverSlowest * slowest_us_) continue;
      kept_.push_back(measured_.Candidate(cascade_, *row, *cut));
    }
  }

  /// Returns the cut of a row that differs from another row's in alpha alone; null if there is
  /// none.
  static const CascadeCut* Like(const CascadeCut& first, const CascadeScore& row) {
    for (const CascadeCut& cut : row.cuts) {
      if (std::abs(cut.cutoff - first.cutoff) <= kSame && cut.slope == first.slope &&
          cut.HasEnsemble() == first.HasEnsemble())
        return &cut;
    }
    return nullptr;
  }

  /// Returns the time within which three of four inputs have their label.
  [[nodiscard]] double QuantilePath(const CascadeCut& cut) const {
    double answered = 0;
    for (size_t i = 0; i < cut.shares.size(); ++i) {
      answered += cut.shares[i];
      if (answered >= kQuantile - kSame) return cascade_.figures.path_us[i];
    }
    return cascade_.figures.path_us.back();
  }

  const MeasuredCascades& measured_;
  const PricedCascade& cascade_;
  std::vector<const CascadeScore*> rows_;
  double mean_accuracy_ = 0;  // of the levels alone
  double slowest_us_ = 0;
  std::vector<CascadeCandidate> kept_;
};

bool IsBetter(const CascadeCandidate& a, const CascadeCandidate& b) {
  if (a.mean_us != b.mean_us) return a.mean_us < b.mean_us;
  if (a.score->alpha != b.score->alpha) return a.score->alpha > b.score->alpha;
  if (a.cut->accuracy != b.cut->accuracy) return a.cut->accuracy > b.cut->accuracy;
  return a.cascade->levels.size() < b.cascade->levels.size();
}

}  // namespace

Result<CascadeCandidate> CascadeByTabi(const MeasuredCascades& measured,
                                       std::optional<double> least_accuracy) {
  const double least = least_accuracy.value_or(0);
  std::optional<CascadeCandidate> best;
  size_t kept = 0;
  for (const PricedCascade& cascade : measured.all()) {
    Walk walk(measured, cascade);
    const std::string name = "tabi: " + measured.NameOf(cascade) + ": ";
    if (!walk.RisesInAccuracy()) {
      measured.context().Say(name + "left out, since accuracy does not rise from level to level");
      continue;
    }
    const std::vector<CascadeCandidate> candidates = walk.Run();
    kept += candidates.size();
    measured.context().Say(name + std::to_string(candidates.size()) + " cuts are left" +
                           (cascade.feasible ? "" : ", too late or too large"));
    if (!cascade.feasible) continue;
    for (const CascadeCandidate& candidate : candidates) {
      if (candidate.cut->accuracy < least - kSame) continue;
      if (!best || IsBetter(candidate, *best)) best = candidate;
    }
  }
  if (best) {
    SayChoice(measured, *best);
    return *best;
  }
  Error none = NoCascade(measured, least);
  const bool any = std::any_of(measured.all().begin(), measured.all().end(),
                               [](const PricedCascade& cascade) { return cascade.feasible; });
  if (!any) return none;
  return InfeasibleError("the heuristic of tabi leaves " + std::to_string(kept) +
                         " cuts of cascades, none of which meets the request")
      .Fix(Remedy::kGiveInRequest, "strategy sti");
}

}  // namespace sti
