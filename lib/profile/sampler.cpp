#include "profile/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "base/samples.h"
#include "profile/statistics.h"

namespace sti {
namespace {

constexpr size_t kLeastSamples = 7;      // fewer than 6 have no interval
constexpr size_t kTailSamples = 200;     // what a p99 by nearest rank needs
constexpr size_t kFewSamples = 15;       // enough of what is slow
constexpr double kNumberUs = 0.5e6;      // spent on one number before it may be called known
constexpr double kVisitUs = 8e3;         // spent on one number in a round
constexpr size_t kVisitSamples = 25;     // so that 200 samples come from 8 rounds
constexpr double kSlowUs = 2e3;          // what a switch between numbers does not matter to
constexpr size_t kWarmBatch = 3;         // samples
constexpr size_t kWarmBatches = 8;       // at most
constexpr double kWarmUs = 0.25e6;       // at most
constexpr double kWarmAgreement = 0.05;  // of two batches that follow each other

double SteadyUs() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Sampler {
 public:
  Sampler(const std::vector<TimedQuantity>& numbers, const SamplingOptions& options)
      : numbers_(numbers),
        options_(options),
        now_us_(options.now_us ? options.now_us : SteadyUs),
        samples_(numbers.size()) {}

  Result<std::vector<Timing>> Run() {
    const double begin_us = now_us_();
    STI_RETURN_IF_ERROR(WarmUpAll());
    for (bool enough = false; !enough;) {
      for (size_t i = 0; i < numbers_.size(); ++i) STI_RETURN_IF_ERROR(Visit(i));
      if (options_.each_round) options_.each_round();
      const double share = (now_us_() - begin_us - idle_us_) / options_.budget_us;
      enough = share >= 1 ? AllHave(kLeastSamples) : AllKnown();
      Report(share);
    }
    if (options_.progress) options_.progress(numbers_.size(), numbers_.size());
    return Results();
  }

 private:
  Result<double> Once(size_t i) {
    if (options_.cancelled && options_.cancelled()) return CancelledError();
    if (options_.gap_us > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(options_.gap_us));
      idle_us_ += options_.gap_us;
    }
    return numbers_[i].once();
  }

  void Begin(size_t i) {
    if (numbers_[i].begin) numbers_[i].begin();
  }

  // A device that idles before each use is measured as it wakes up, so nothing is warmed up then.
  Status WarmUpAll() {
    for (size_t i = 0; options_.gap_us <= 0 && i < numbers_.size(); ++i)
      STI_RETURN_IF_ERROR(WarmUp(i));
    return {};
  }

  // Until two small batches agree: clocks have risen, caches and the device's own tables are full.
  Status WarmUp(size_t i) {
    Begin(i);
    const double begin_us = now_us_();
    double last_us = 0;
    for (size_t batch = 0; batch < kWarmBatches; ++batch) {
      Samples times;
      while (times.count() < kWarmBatch && (times.count() == 0 || now_us_() - begin_us < kWarmUs)) {
        STI_ASSIGN_OR_RETURN(const double time_us, Once(i));
        times.Add(time_us);
      }
      const double now_us = times.median();
      if (now_us_() - begin_us >= kWarmUs) break;
      if (batch > 0 && std::abs(now_us - last_us) <= kWarmAgreement * last_us) break;
      last_us = now_us;
    }
    return {};
  }

  Status Visit(size_t i) {
    Begin(i);
    Samples& samples = samples_[i];
    // The caches hold what the number before left in them, so a first call is not counted.
    if (options_.gap_us <= 0 && samples.Last() < kSlowUs) STI_RETURN_IF_ERROR(Once(i));
    const double begin_us = now_us_();
    size_t taken = 0;
    do {
      STI_ASSIGN_OR_RETURN(const double time_us, Once(i));
      samples.Add(time_us);
      if (options_.each_sample) options_.each_sample(i, time_us);
    } while (options_.gap_us <= 0 && ++taken < kVisitSamples && now_us_() - begin_us < kVisitUs);
    return {};
  }

  // Samples that a number is given before its interval is looked at.
  [[nodiscard]] size_t Wanted(size_t i) const {
    if (options_.gap_us > 0) return kFewSamples;
    const double fit = kNumberUs / std::max(samples_[i].Last(), 1.0);
    return static_cast<size_t>(
        std::clamp(fit, double{kFewSamples}, static_cast<double>(kTailSamples)));
  }

  [[nodiscard]] bool AllHave(size_t count) const {
    return std::all_of(samples_.begin(), samples_.end(),
                       [&](const Samples& samples) { return samples.count() >= count; });
  }

  [[nodiscard]] bool AllKnown() const {
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].count() < Wanted(i)) return false;
    }
    return std::all_of(samples_.begin(), samples_.end(), [&](const Samples& samples) {
      return MedianOf(samples.values()).HalfWidth(kLeastCountedUs) <= options_.precision;
    });
  }

  void Report(double budget_share) {
    if (!options_.progress) return;
    double done = 0;
    for (size_t i = 0; i < samples_.size(); ++i) {
      done +=
          std::min(1.0, static_cast<double>(samples_[i].count()) / static_cast<double>(Wanted(i)));
    }
    const auto all = static_cast<double>(samples_.size());
    done = std::min(std::max(done, budget_share * all), all - 1);
    reported_ = std::max(reported_, static_cast<uint64_t>(std::max(done, 0.0)));
    options_.progress(reported_, samples_.size());
  }

  // p99 of the samples of each kind, each divided by the median of its number. None where they are
  // few together: one hiccup would be the tail of all.
  [[nodiscard]] std::map<uint32_t, double> TailsByKind() const {
    std::map<uint32_t, Samples> ratios;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const double median_us = samples_[i].median();
      if (median_us <= 0) continue;
      for (const double value : samples_[i].values())
        ratios[numbers_[i].kind].Add(value / median_us);
    }
    std::map<uint32_t, double> tails;
    for (const auto& [kind, samples] : ratios) {
      if (samples.count() >= kTailSamples) tails[kind] = samples.p99();
    }
    return tails;
  }

  [[nodiscard]] std::vector<Timing> Results() const {
    std::map<uint32_t, double> tails = TailsByKind();
    std::vector<Timing> results;
    results.reserve(samples_.size());
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Samples& samples = samples_[i];
      const MedianInterval interval = MedianOf(samples.values());
      Timing result{interval.median, samples.p99(), interval.HalfWidth(kLeastCountedUs),
                    DriftOf(samples.values()), samples.count()};
      if (samples.count() < kTailSamples) {
        result.p99_us = std::max(samples.Quantile(1), interval.median * tails[numbers_[i].kind]);
      }
      results.push_back(result);
    }
    return results;
  }

  // Only what the intervals of the two halves leave no doubt about, and more than was asked for.
  [[nodiscard]] double DriftOf(const std::vector<double>& values) const {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    const MedianInterval first = MedianOf({values.begin(), middle});
    const MedianInterval second = MedianOf({middle, values.end()});
    if (IntervalRank(first.samples) == 0 || first.median < kLeastCountedUs) return 0;
    const double drift = second.median / first.median - 1;
    const bool apart = first.high < second.low || second.high < first.low;
    return apart && std::abs(drift) > options_.precision ? drift : 0;
  }

  const std::vector<TimedQuantity>& numbers_;
  const SamplingOptions& options_;
  std::function<double()> now_us_;
  std::vector<Samples> samples_;
  double idle_us_ = 0;
  uint64_t reported_ = 0;
};

}  // namespace

Result<std::vector<Timing>> MeasureAll(const std::vector<TimedQuantity>& numbers,
                                       const SamplingOptions& options) {
  if (numbers.empty()) return std::vector<Timing>{};
  return Sampler(numbers, options).Run();
}

}  // namespace sti
