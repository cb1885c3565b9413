#include "second_quality.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace sti::test {
namespace {

/// Sums of weights in another order differ by less.
constexpr double kSameQuality = 1e-9;

/// The fall-off d: what is left of a shard's damage at these bits.
double DamageLeft(uint32_t bits) {
  const std::map<uint32_t, double> left = {{2, 1.0},   {3, 0.286}, {4, 0.114},
                                           {5, 0.043}, {6, 0.014}, {32, 0.0}};
  return left.at(bits);
}

/// w of each shard of the model: max(gain, 0) + mean gain, or + 1 where the mean is not above 0;
/// without gains 3 to 1 by rank.
std::vector<double> WeightsOf(const Importance& importance) {
  const size_t shards = importance.scores.size();
  std::vector<double> weights(shards);
  const size_t levels = importance.gain_bits.size();
  if (levels > 0) {
    double mean = 0;
    for (size_t shard = 0; shard < shards; ++shard) {
      const double gain = importance.gains[shard * levels + levels - 1];
      weights[shard] = std::max(gain, 0.0);
      mean += gain / static_cast<double>(shards);
    }
    for (double& weight : weights) weight += mean > 0 ? mean : 1;
    return weights;
  }
  std::vector<size_t> order(shards);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return importance.scores[a] > importance.scores[b]; });
  for (size_t rank = 0; rank < shards; ++rank) {
    const double way = shards > 1 ? static_cast<double>(rank) / static_cast<double>(shards - 1) : 0;
    weights[order[rank]] = 3 - 2 * way;
  }
  return weights;
}

/// The submodel at the most of its measured bits, or at the fewest; null where it was not measured.
const SubmodelScore* ScoreOf(const Importance& importance, const PlanCore& plan, bool most) {
  const SubmodelScore* found = nullptr;
  for (const SubmodelScore& score : importance.submodels) {
    if (score.depth != plan.layers.size() || score.width != plan.width) continue;
    if (found == nullptr || most) found = &score;
  }
  return found;
}

}  // namespace

PredictedQuality SecondQualityOf(const PlanInput& input, const PlanCore& plan,
                                 const Grid<uint32_t>& bits) {
  if (input.importance == nullptr) return {};
  const Importance& importance = *input.importance;
  const SubmodelScore* full = ScoreOf(importance, plan, true);
  const SubmodelScore* fewest = ScoreOf(importance, plan, false);
  if (full == nullptr) return {};
  const std::vector<double> weights = WeightsOf(importance);
  double sum = 0;
  double all = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardId id = plan.Id(k, i);
      const double weight = weights[size_t{id.layer} * importance.width + id.slice];
      sum += weight * DamageLeft(bits.At(k, i));
      all += weight;
    }
  }
  PredictedQuality quality;
  quality.loss = full->loss + (fewest->loss - full->loss) * sum / all;
  quality.accuracy = full->accuracy + (fewest->accuracy - full->accuracy) * sum / all;
  if (importance.metric == Metric::kKl) std::swap(quality.accuracy, quality.agreement);
  return quality;
}

void HoldQuality(const std::string& name, const PredictedQuality& got,
                 const PredictedQuality& wanted, SecondNotes* notes) {
  const auto same = [&](const char* field, const std::optional<double>& a,
                        const std::optional<double>& b) {
    if (a.has_value() == b.has_value() && std::abs(a.value_or(0) - b.value_or(0)) <= kSameQuality)
      return;
    notes->That(name + field + " is " + (a ? std::to_string(*a) : "nothing") + ", and " +
                    (b ? std::to_string(*b) : "nothing") + " anew",
                false);
  };
  same("predicted_loss", got.loss, wanted.loss);
  same("predicted_accuracy", got.accuracy, wanted.accuracy);
  same("predicted_agreement", got.agreement, wanted.agreement);
}

}  // namespace sti::test
