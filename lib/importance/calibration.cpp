#include "importance/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "types/cascade.h"
#include "types/score.h"

namespace sti {
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
