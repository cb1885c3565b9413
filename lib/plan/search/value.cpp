#include "plan/search/value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "base/remedy.h"
#include "plan/text.h"
#include "types/importance.h"

namespace sti {
namespace {

/// Returns d(bits): the quality that a shard loses against full fidelity, scaled so that two bits
/// lose 1.
double LackOf(uint32_t bits) {
  constexpr std::array<double, 7> kLack = {4, 2, 1, 0.286, 0.114, 0.043, 0.014};
  return bits < kLack.size() ? kLack[bits] : 0.0;
}

/// The worth of a submodel at two bits, of its worth at full fidelity.
constexpr double kWorthAtTwoBits = 0.65;

/// How much more the most important shard counts than the least where only their order is known.
constexpr double kRankSpread = 3;

/// A measured damage that noise has made 0 or negative counts as this share of the mean.
constexpr double kLeastShare = 0.05;

/// The more important, the heavier: from kRankSpread down to 1 by rank.
std::vector<double> WeightsByRank(std::span<const ShardId> order, uint32_t width) {
  std::vector<double> weights(order.size(), 1.0);
  if (order.size() < 2) return weights;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const auto [layer, slice] = order[rank];
    const double above = static_cast<double>(order.size() - 1 - rank);
    weights[size_t{layer} * width + slice] +=
        (kRankSpread - 1) * above / static_cast<double>(order.size() - 1);
  }
  return weights;
}

/// Raises what is below a share of the mean to it.
void LiftNoise(std::vector<double>* values) {
  double sum = 0;
  for (double value : *values) sum += std::max(value, 0.0);
  const double least = std::max(kLeastShare * sum / static_cast<double>(values->size()), 1e-9);
  for (double& value : *values) value = std::max(value, least);
}

/// Gain of each shard from the fewest bits to the most that were measured, and the mean gain on
/// top: single gains are noisy, and of 240 random plans of CLINC150 models their sum orders losses
/// best so (docs/measured/planning.md, "Predicted and measured loss").
std::vector<double> WeightsByGain(const Importance& importance) {
  const size_t levels = importance.gain_bits.size();
  std::vector<double> weights;
  weights.reserve(importance.gains.size() / levels);
  double sum = 0;
  for (size_t last = levels - 1; last < importance.gains.size(); last += levels) {
    weights.push_back(std::max(importance.gains[last], 0.0));
    sum += importance.gains[last];
  }
  const double mean = sum > 0 ? sum / static_cast<double>(weights.size()) : 1.0;
  for (double& weight : weights) weight += mean;
  return weights;
}

}  // namespace

ValueModel::ValueModel(std::span<const uint32_t> bits, std::span<const ShardId> order,
                       uint32_t layers, uint32_t width, const Importance* importance,
                       std::span<const Submodel> submodels)
    : width_(width) {
  if (importance != nullptr && !importance->gains.empty()) {
    weights_ = WeightsByGain(*importance);
  } else if (importance != nullptr) {
    weights_ = WeightsByRank(order, width);
  } else {
    weights_.assign(size_t{layers} * width, 1.0);
  }
  if (importance != nullptr) ReadSubmodels(*importance, submodels);
  lacks_.reserve(bits.size());
  for (uint32_t k : bits) lacks_.push_back(LackOf(k));
}

void ValueModel::ReadSubmodels(const Importance& importance, std::span<const Submodel> submodels) {
  // Entries are sorted by depth, width, bits: the first of a size has the fewest, the last the
  // most.
  for (const SubmodelScore& score : importance.submodels) {
    if (submodels_.empty() || submodels_.back().depth != score.depth ||
        submodels_.back().width != score.width)
      submodels_.push_back({score.depth, score.width, 0, score.loss, 0, score.accuracy});  // lowest
    submodels_.back().full_loss = score.loss;
    submodels_.back().full_accuracy = score.accuracy;
  }
  std::vector<double> damages;
  damages.reserve(submodels_.size());
  for (const Measured& one : submodels_) damages.push_back(one.damage - one.full_loss);
  if (!damages.empty()) LiftNoise(&damages);
  for (size_t i = 0; i < damages.size(); ++i) submodels_[i].damage = damages[i];
  const bool all = std::all_of(submodels.begin(), submodels.end(), [&](const Submodel& submodel) {
    return Find(submodel.depth, submodel.width) != nullptr;
  });
  if (!all) submodels_.clear();
}

const ValueModel::Measured* ValueModel::Find(uint32_t depth, uint32_t width) const {
  const auto found = std::lower_bound(
      submodels_.begin(), submodels_.end(), std::pair(depth, width),
      [](const Measured& one, const auto& key) { return std::pair(one.depth, one.width) < key; });
  if (found == submodels_.end() || found->depth != depth || found->width != width) return nullptr;
  return &*found;
}

double ValueModel::FullLoss(uint32_t depth, uint32_t width) const {
  if (measured()) return Find(depth, width)->full_loss;
  return -static_cast<double>(depth) * std::sqrt(static_cast<double>(width));
}

double ValueModel::Damage(uint32_t depth, uint32_t width) const {
  if (measured()) return Find(depth, width)->damage;
  return (1 - kWorthAtTwoBits) * depth * std::sqrt(static_cast<double>(width));
}

std::optional<double> ValueModel::Accuracy(uint32_t depth, uint32_t width, double loss) const {
  if (!measured()) return std::nullopt;
  const Measured& one = *Find(depth, width);
  const double share = std::clamp((loss - one.full_loss) / one.damage, 0.0, 1.0);
  return one.full_accuracy + share * (one.low_accuracy - one.full_accuracy);
}

PredictedQuality QualityOf(const Importance& importance, const ModelInfo& model, double loss,
                           std::optional<double> right) {
  PredictedQuality quality{.loss = loss, .accuracy = {}, .agreement = {}};
  switch (importance.metric) {
    case Metric::kAccuracy:
    case Metric::kF1:
    case Metric::kLoss:
      (model.labels_tokens() ? quality.f1 : quality.accuracy) = right;
      break;
    case Metric::kKl:
      quality.agreement = right;
      break;
    case Metric::kCosine:
      quality.cosine = right;
      break;
    case Metric::kSpearman:
      quality.spearman = right;
      break;
  }
  return quality;
}

std::string Described(const PredictedQuality& quality) {
  const std::pair<const char*, std::optional<double>> figures[] = {{"accuracy", quality.accuracy},
                                                                   {"F1", quality.f1},
                                                                   {"agreement", quality.agreement},
                                                                   {"cosine", quality.cosine},
                                                                   {"Spearman", quality.spearman}};
  std::string text;
  for (const auto& [name, figure] : figures) {
    if (figure) text += ", " + std::string(name) + " " + Fixed4(*figure);
  }
  return text;
}

std::string QualityInWords(const CheckedInput& input) {
  const Metric likely = input->info.embeds() ? Metric::kCosine : Metric::kAccuracy;
  return QualityWords(input->importance == nullptr ? likely : input->importance->metric,
                      input->info.head.output);
}

std::string QualityName(const CheckedInput& input) {
  const std::string words = QualityInWords(input);
  return words.substr(words.find(' ') + 1);
}

Status CheckQualityIsKnown(const CheckedInput& input, const PlanRequest& request) {
  const bool by_kl = input->importance != nullptr && input->importance->metric == Metric::kKl;
  if (by_kl && !request.full_accuracy) {
    return UsageError(
               "an importance measured by kl tells how often a plan agrees with the full model, "
               "not how often it is right")
        .Fix(Remedy::kGiveInRequest, "full_accuracy, or drop min_accuracy");
  }
  if (!by_kl && request.full_accuracy) {
    return UsageError(std::string("the full model's accuracy says nothing ") +
                      (!input->info.embeds() ? "beside an importance with labels"
                                             : "of a model that embeds texts"))
        .Fix(Remedy::kDropFromRequest, "full_accuracy");
  }
  return {};
}

std::optional<double> QualityReached(const PredictedQuality& quality, const PlanRequest& request) {
  if (quality.agreement) return *request.full_accuracy - (1 - *quality.agreement);
  if (quality.cosine) return quality.cosine;
  if (quality.f1) return quality.f1;
  return quality.spearman ? quality.spearman : quality.accuracy;
}

PredictedQuality PredictQuality(const CheckedInput& input, const PlanCore& plan,
                                const Grid<uint32_t>& bits) {
  if (input->importance == nullptr || input->importance->submodels.empty()) return {};
  const auto depth = static_cast<uint32_t>(plan.layers.size());
  const Submodel submodel{depth, plan.width};
  const ValueModel value(input->catalog.bits, ImportanceRank(*input->importance),
                         input->catalog.layers, input->catalog.width, input->importance,
                         std::span(&submodel, 1));
  if (!value.measured()) return {};
  double sum = 0;
  double most = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const double weight = value.Weight(plan.Id(k, i));
      most += weight;
      const auto level =
          std::find(input->catalog.bits.begin(), input->catalog.bits.end(), bits.At(k, i));
      sum += weight * value.Lack(static_cast<size_t>(level - input->catalog.bits.begin()));
    }
  }
  const double loss =
      value.FullLoss(depth, plan.width) + value.Damage(depth, plan.width) * sum / most;
  return QualityOf(*input->importance, input->info, loss, value.Accuracy(depth, plan.width, loss));
}

}  // namespace sti
