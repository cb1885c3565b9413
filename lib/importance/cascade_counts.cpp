#include "importance/cascade_counts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "types/cascade.h"
#include "types/score.h"

namespace sti {
namespace {

constexpr size_t kAll = 2;  ///< the fit of all examples

/// [levels - 1] of one fit.
using Weights = std::vector<double>;

double Share(double part, double whole) { return whole > 0 ? std::min(part / whole, 1.0) : 0; }

/// Returns the weights of a fit: that of a half comes from the examples of the other. Each is
/// A2 / (A1 + A2), accuracies of a level and of the one before on what comes to the level.
Weights FitWeights(const CascadeAnswers& cascade, const CascadeRule& rule, size_t fit) {
  const size_t hops = cascade.levels.size() - 1;
  Weights before(hops);
  Weights after(hops);
  for (size_t e = 0; e < cascade.levels.front()->examples(); ++e) {
    if (HalfOf(e) == fit) continue;
    double reach = 1;
    for (size_t i = 0; i < hops; ++i) {
      reach *= GoOnProbability(cascade.levels[i]->ConfidenceOf(e, fit), rule);
      before[i] += cascade.levels[i]->IsRight(e) ? reach : 0;
      after[i] += cascade.levels[i + 1]->IsRight(e) ? reach : 0;
    }
  }
  Weights weights(hops, 1);
  for (size_t i = 0; i < hops; ++i) {
    if (before[i] + after[i] > 0) weights[i] = after[i] / (before[i] + after[i]);
  }
  return weights;
}

/// Sums over examples, in expectation.
struct Counts {
  explicit Counts(size_t levels)
      : answered(levels), right(levels), had(levels - 1), left(levels - 1) {}
  std::vector<double> answered;
  std::vector<double> right;
  std::vector<double> had;
  std::vector<double> left;
  RunningMean gained;  ///< what an example adds to accuracy beyond the last level alone
};

Counts CountAll(const CascadeAnswers& cascade, const CascadeRule& rule,
                const std::array<Weights, 3>& weights) {
  const size_t levels = cascade.levels.size();
  Counts counts(levels);
  for (size_t e = 0; e < cascade.levels.front()->examples(); ++e) {
    const size_t half = HalfOf(e);
    double reach = 1;
    double gained = cascade.alone->IsRight(e) ? -1 : 0;
    for (size_t i = 0; i < levels && reach > 0; ++i) {
      const LevelAnswers& level = *cascade.levels[i];
      const bool last = i + 1 == levels;
      const double goes_on = last ? 0 : reach * GoOnProbability(level.ConfidenceOf(e, half), rule);
      const bool right = i == 0
                             ? level.IsRight(e)
                             : level.IsRightAfter(*cascade.levels[i - 1], weights[half][i - 1], e);
      counts.answered[i] += reach - goes_on;
      counts.right[i] += right ? reach - goes_on : 0;
      gained += right ? reach - goes_on : 0;
      if (!last) {
        const WordCount& words = (*cascade.words[i])[e];
        counts.had[i] += goes_on * words.had;
        counts.left[i] += goes_on * words.left;
      }
      reach = goes_on;
    }
    counts.gained.Add(gained);
  }
  return counts;
}

}  // namespace

LevelAnswers::LevelAnswers(const LabelledLogits& examples, const Calibration& calibration)
    : truths_(examples.truths.begin(), examples.truths.end()),
      probabilities_(examples.logits.size()) {
  const std::array<double, 3> temperatures = {calibration.for_half[0], calibration.for_half[1],
                                              calibration.temperature};
  const std::span<float> all(probabilities_);
  for (size_t e = 0; e < truths_.size(); ++e) {
    const std::span<const float> logits = examples.Of(e);
    right_.push_back(ArgMax(logits) == truths_[e]);
    SoftmaxAt(logits, temperatures[HalfOf(e)], all.subspan(e * logits.size(), logits.size()));
    for (size_t fit = 0; fit < temperatures.size(); ++fit)
      confidence_[fit].push_back(Confidence(logits, temperatures[fit]));
  }
}

std::span<const float> LevelAnswers::ProbabilitiesOf(size_t example) const {
  const size_t labels = probabilities_.size() / truths_.size();
  return std::span(probabilities_).subspan(example * labels, labels);
}

bool LevelAnswers::IsRightAfter(const LevelAnswers& before, double weight, size_t example) const {
  if (weight >= 1) return IsRight(example);
  const std::span<const float> first = before.ProbabilitiesOf(example);
  const std::span<const float> second = ProbabilitiesOf(example);
  std::vector<float> both(second.size());
  std::transform(first.begin(), first.end(), second.begin(), both.begin(),
                 [&](float p1, float p2) { return EnsembleOf(double{p1}, double{p2}, weight); });
  return ArgMax(both) == truths_[example];
}

CascadeCut CountCut(const CascadeAnswers& cascade, const CutChoice& choice) {
  const size_t levels = cascade.levels.size();
  const CascadeRule rule{.cutoff = choice.cutoff, .slope = choice.slope};
  std::array<Weights, 3> weights;
  for (size_t fit = 0; fit < weights.size(); ++fit)
    weights[fit] = choice.ensemble ? FitWeights(cascade, rule, fit) : Weights(levels - 1, 1);
  const Counts counts = CountAll(cascade, rule, weights);
  const auto examples = static_cast<double>(cascade.levels.front()->examples());
  CascadeCut cut;
  cut.cutoff = choice.cutoff;
  cut.slope = choice.slope;
  cut.weights = weights[kAll];
  double right = 0;
  for (size_t i = 0; i < levels; ++i) {
    cut.shares.push_back(Share(counts.answered[i], examples));
    cut.accuracies.push_back(Share(counts.right[i], counts.answered[i]));
    right += counts.right[i];
  }
  cut.accuracy = Share(right, examples);
  cut.difference_error = counts.gained.standard_error();
  for (size_t i = 0; i + 1 < levels; ++i)
    cut.words_left.push_back(counts.had[i] > 0 ? Share(counts.left[i], counts.had[i]) : 1);
  return cut;
}

namespace {

constexpr double kLowest = 0.05;  // of temperatures that are tried
constexpr double kHighest = 20;
constexpr int kSteps = 48;  // of the search, after which τ is known to some nine digits
constexpr size_t kBins = 15;

double NllOfHalf(const LabelledLogits& examples, size_t half, double temperature) {
  double sum = 0;
  for (size_t e = half; e < examples.truths.size(); e += 2)
    sum += CrossEntropyAt(examples.Of(e), examples.truths[e], temperature);
  return sum;
}

// The least of a function of the temperature that falls and then rises, by golden sections of its
// logarithm.
template <typename F>
double BestTemperature(const F& nll) {
  const double section = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(kLowest);
  double high = std::log(kHighest);
  double left = high - section * (high - low);
  double right = low + section * (high - low);
  double at_left = nll(std::exp(left));
  double at_right = nll(std::exp(right));
  for (int step = 0; step < kSteps; ++step) {
    if (at_left <= at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - section * (high - low);
      at_left = nll(std::exp(left));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + section * (high - low);
      at_right = nll(std::exp(right));
    }
  }
  return std::exp((low + high) / 2);
}

double EceOf(const LabelledLogits& examples, const std::array<double, 2>& temperatures) {
  struct Bin {
    double confidence = 0;
    double right = 0;
  };
  std::vector<Bin> bins(kBins);
  const size_t count = examples.truths.size();
  for (size_t e = 0; e < count; ++e) {
    const double confidence = Confidence(examples.Of(e), temperatures[HalfOf(e)]);
    const auto bin = static_cast<size_t>(confidence * static_cast<double>(kBins));
    bins[std::min(bin, kBins - 1)].confidence += confidence;
    bins[std::min(bin, kBins - 1)].right += ArgMax(examples.Of(e)) == examples.truths[e] ? 1 : 0;
  }
  double error = 0;
  for (const Bin& bin : bins) error += std::abs(bin.right - bin.confidence);
  return error / static_cast<double>(count);
}

}  // namespace

Calibration Calibrate(const LabelledLogits& examples) {
  const auto count = static_cast<double>(examples.truths.size());
  Calibration calibration;
  const double nll = NllOfHalf(examples, 0, 1) + NllOfHalf(examples, 1, 1);
  std::array<double, 2> fitted = {1, 1};
  if (examples.truths.size() > 1) {
    for (size_t half = 0; half < 2; ++half) {
      fitted[half] = BestTemperature([&](double t) { return NllOfHalf(examples, 1 - half, t); });
    }
  }
  const double held_out = NllOfHalf(examples, 0, fitted[0]) + NllOfHalf(examples, 1, fitted[1]);
  if (held_out < nll) {
    calibration.for_half = fitted;
    calibration.temperature = BestTemperature(
        [&](double t) { return NllOfHalf(examples, 0, t) + NllOfHalf(examples, 1, t); });
  }
  calibration.nll = nll / count;
  calibration.calibrated_nll = std::min(held_out, nll) / count;
  calibration.ece = EceOf(examples, {1, 1});
  calibration.calibrated_ece = EceOf(examples, calibration.for_half);
  return calibration;
}

}  // namespace sti
