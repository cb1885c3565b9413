#include "plan/device_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "base/remedy.h"
#include "types/profile_check.h"

namespace sti {
namespace {

/// Sorts by key; where a key was measured twice, keeps the slower.
template <typename Key>
void SortUnique(std::vector<std::pair<Key, double>>* points) {
  std::sort(points->begin(), points->end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  auto same_key = [](const auto& a, const auto& b) { return a.first == b.first; };
  points->erase(std::unique(points->begin(), points->end(), same_key), points->end());
}

template <typename Key>
double OnLine(const std::pair<Key, double>& a, const std::pair<Key, double>& b, double x) {
  const auto x0 = static_cast<double>(a.first);
  const auto x1 = static_cast<double>(b.first);
  return a.second + (b.second - a.second) * ((x - x0) / (x1 - x0));
}

template <typename Sample>
std::string Lengths(const std::vector<Sample>& samples) {
  std::vector<uint32_t> lengths;
  lengths.reserve(samples.size());
  for (const Sample& sample : samples) lengths.push_back(sample.length);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::string text;
  for (uint32_t length : lengths) text += (text.empty() ? "" : ",") + std::to_string(length);
  return text;
}

/// The smallest profiled length that holds `length`.
template <typename Sample>
std::optional<uint32_t> HoldingLength(const std::vector<Sample>& samples, uint32_t length) {
  std::optional<uint32_t> best;
  for (const Sample& sample : samples) {
    if (sample.length >= length && (!best || sample.length < *best)) best = sample.length;
  }
  return best;
}

double LayerTimeAt(Risk risk, const ComputeSample& sample, bool last) {
  if (last && sample.last_us > 0) return TimeAt(risk, sample.last_us, sample.last_p99_us);
  return TimeAt(risk, sample.layer_us, sample.p99_us);
}

/// Layer times by width at one length, or those of last layers. Of several clocks the highest not
/// above `freq` counts; the highest of all if `freq` is 0 (STI 5.3: the clock is at its peak while
/// an inference runs).
std::vector<std::pair<uint32_t, double>> LayerTimes(const std::vector<ComputeSample>& samples,
                                                    uint32_t length, Risk risk, uint64_t freq,
                                                    bool last) {
  std::vector<std::pair<uint32_t, double>> widths;
  const auto counts = [&](const ComputeSample& sample) {
    return sample.length == length && (freq == 0 || sample.freq <= freq);
  };
  std::map<uint32_t, uint64_t> clocks;  // the highest that counts, by width
  for (const ComputeSample& sample : samples) {
    if (!counts(sample)) continue;
    uint64_t& highest = clocks[sample.width];
    highest = std::max(highest, sample.freq);
  }
  for (const ComputeSample& sample : samples) {
    if (counts(sample) && sample.freq == clocks[sample.width])
      widths.emplace_back(sample.width, LayerTimeAt(risk, sample, last));
  }
  SortUnique(&widths);
  return widths;
}

/// Returns what bits add, at the highest clock not above `freq`, or of all if `freq` is 0.
std::vector<std::pair<uint32_t, double>> DecodeTimes(const std::vector<DecodeSample>& samples,
                                                     uint64_t freq) {
  std::map<uint32_t, const DecodeSample*> by_bits;
  for (const DecodeSample& sample : samples) {
    if (freq != 0 && sample.freq > freq) continue;
    const DecodeSample*& known = by_bits[sample.bits];
    if (known == nullptr ||
        std::tie(sample.freq, sample.extra_us) > std::tie(known->freq, known->extra_us))
      known = &sample;
  }
  std::vector<std::pair<uint32_t, double>> times;
  times.reserve(by_bits.size());
  for (const auto& [bits, sample] : by_bits) times.emplace_back(bits, sample->extra_us);
  return times;
}

/// Returns what embedding rows take to begin, whatever their number: on the line through the
/// shortest length and the first that is twice as long. Beside the rows of its words a text reads a
/// block or two of positions, however short it is; they count as two words. 0 if there is no such
/// line.
double RowsStartUs(std::span<const FixedSample> fixed) {
  std::vector<std::pair<uint32_t, double>> by_length;
  for (const FixedSample& sample : fixed) by_length.emplace_back(sample.length, sample.embed_io_us);
  SortUnique(&by_length);
  const auto shortest = by_length.front();
  const auto longer = std::ranges::find_if(
      by_length, [&](const auto& point) { return point.first >= 2 * uint64_t{shortest.first}; });
  if (longer == by_length.end()) return 0;
  constexpr double kWordsOfPositions = 2;
  return std::clamp(OnLine(shortest, *longer, -kWordsOfPositions), 0.0, shortest.second);
}

/// Returns p99 over median of a series of `run_us`. Some were measured.
double RatioOfRun(const std::vector<SeriesSample>& series, double run_us) {
  const auto above =
      std::lower_bound(series.begin(), series.end(), run_us,
                       [](const SeriesSample& s, double us) { return s.median_us < us; });
  if (above == series.begin()) return series.front().ratio();
  if (above == series.end()) return series.back().ratio();
  const SeriesSample& below = *(above - 1);
  return OnLine(std::pair(below.median_us, below.ratio()),
                std::pair(above->median_us, above->ratio()), run_us);
}

std::optional<double> TimeOfWidth(const std::vector<std::pair<uint32_t, double>>& widths,
                                  uint32_t width, bool interpolate) {
  auto above = std::lower_bound(widths.begin(), widths.end(), width,
                                [](const auto& point, uint32_t w) { return point.first < w; });
  if (above == widths.end()) return std::nullopt;
  if (above->first == width) return above->second;
  if (above == widths.begin() || !interpolate) return std::nullopt;
  return OnLine(*(above - 1), *above, width);
}

/// Returns the times of passes of so many inputs; null if there are none, and for one input.
const BatchSamples* FindBatch(const DeviceProfile& profile, uint32_t batch) {
  const auto found = std::ranges::find(profile.batches, batch, &BatchSamples::batch);
  return found == profile.batches.end() ? nullptr : &*found;
}

}  // namespace

Status ValidateProfile(const DeviceProfile& profile) {
  const std::optional<std::string> fault = FindProfileFault(profile);
  if (!fault) return {};
  return DataError(*fault).In(Source::kProfile).Fix(Remedy::kCorrectProfile);
}

uint32_t LongestProfiledLength(const DeviceProfile& profile) {
  uint32_t longest = 0;
  for (const ComputeSample& sample : profile.compute) longest = std::max(longest, sample.length);
  return longest;
}

Result<DeviceModel> DeviceModel::Make(const DeviceProfile& profile, uint32_t length, Risk risk,
                                      const ProfileReading& reading) {
  const BatchSamples* const batch = FindBatch(profile, reading.batch);
  if (reading.batch > 1 && batch == nullptr) {
    return DataError("has no times of passes of " + std::to_string(reading.batch) + " inputs")
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureBatches);
  }
  const std::vector<ComputeSample>& compute = batch != nullptr ? batch->compute : profile.compute;
  const std::vector<FixedSample>& fixed = batch != nullptr ? batch->fixed : profile.fixed;
  DeviceModel model;
  const std::optional<uint32_t> holding = HoldingLength(compute, length);
  if (!holding) {
    return UsageError("no profiled length holds " + std::to_string(length) +
                      " tokens, the profile has " + Lengths(compute))
        .Fix(Remedy::kMeasureLengths);
  }
  model.length_ = *holding;
  model.interpolate_ = reading.interpolate;
  model.widths_were_chosen_ = profile.provenance == Provenance::kMeasured;
  model.widths_ = LayerTimes(compute, *holding, risk, reading.freq, false);
  model.last_ = LayerTimes(compute, *holding, risk, reading.freq, true);
  model.decode_ = DecodeTimes(profile.decode, reading.freq);
  if (model.widths_.empty()) {
    return UsageError("no layer times at " + std::to_string(reading.freq) +
                      " kHz or less; ask for a clock that was profiled")
        .In(Source::kProfile);
  }
  if (!fixed.empty()) {
    const std::optional<uint32_t> row = HoldingLength(fixed, length);
    if (!row) {
      return DataError("fixed has lengths " + Lengths(fixed) + ", none holds " +
                       std::to_string(length) + " tokens")
          .In(Source::kProfile)
          .Fix(Remedy::kMeasureAgain);
    }
    double rows_us = 0;  // by medians
    const auto slower = [](double* time_us, double other_us) {
      *time_us = std::max(*time_us, other_us);
    };
    for (const FixedSample& sample : fixed) {
      if (sample.length != *row) continue;
      slower(&model.fixed_.embed_us, TimeAt(risk, sample.embed_us, sample.embed_p99_us));
      slower(&model.fixed_.embed_io_us, TimeAt(risk, sample.embed_io_us, sample.embed_io_p99_us));
      slower(&model.fixed_.head_us, TimeAt(risk, sample.head_us, sample.head_p99_us));
      slower(&rows_us, sample.embed_io_us);
    }
    model.fixed_.embed_io_start_us = std::min(RowsStartUs(fixed), rows_us);
  }
  for (const IoSample& sample : profile.io) {
    const double time_us = TimeAt(risk, sample.load_us, sample.p99_us);
    if (sample.bits != 0) model.by_bits_.emplace_back(sample.bits, time_us);
    if (sample.bytes != 0) model.by_bytes_.emplace_back(sample.bytes, time_us);
  }
  // Rates are medians. Those of a bad moment are less in the ratio of the largest read.
  const auto largest = std::ranges::max_element(profile.io, {}, &IoSample::bytes);
  const double slower = risk == Risk::kP99 && largest != profile.io.end() && largest->load_us > 0
                            ? std::max(largest->load_us, largest->p99_us) / largest->load_us
                            : 1;
  for (const StreamRate& rate : profile.streams)
    model.streams_.emplace_back(rate.streams, rate.bytes_per_us / slower);
  SortUnique(&model.by_bits_);
  SortUnique(&model.by_bytes_);
  return model;
}

std::optional<double> DeviceModel::LayerUs(uint32_t width) const {
  return TimeOfWidth(widths_, width, interpolate_);
}

std::optional<double> DeviceModel::LastLayerUs(uint32_t width) const {
  return TimeOfWidth(last_, width, interpolate_);
}

double DeviceModel::DecodeUs(uint32_t bits) const {
  for (const auto& [sample_bits, extra_us] : decode_) {
    if (sample_bits == bits) return extra_us;
  }
  return 0;
}

std::optional<double> DeviceModel::SlowestLayerUs(uint32_t width) const {
  std::optional<double> layer_us = LayerUs(width);
  if (!layer_us) return layer_us;
  double most_us = 0;
  for (const auto& [bits, extra_us] : decode_) most_us = std::max(most_us, extra_us);
  return *layer_us + width * most_us;
}

std::optional<double> DeviceModel::LoadUs(uint32_t bits, uint64_t bytes) const {
  for (const auto& [sample_bits, time_us] : by_bits_) {
    if (sample_bits == bits) return time_us;
  }
  if (by_bytes_.empty()) return std::nullopt;
  const double x = static_cast<double>(bytes);
  if (by_bytes_.size() == 1) {
    // One sample gives a bandwidth.
    return by_bytes_[0].second * (x / static_cast<double>(by_bytes_[0].first));
  }
  auto above = std::lower_bound(by_bytes_.begin(), by_bytes_.end(), bytes,
                                [](const auto& point, uint64_t b) { return point.first < b; });
  if (above != by_bytes_.end() && above->first == bytes) return above->second;
  if (above == by_bytes_.begin()) ++above;
  if (above == by_bytes_.end()) --above;
  return std::max(0.0, OnLine(*(above - 1), *above, x));
}

double DeviceModel::StreamRateOf(uint32_t streams) const {
  if (streams_.empty() || streams == 0) return 0;
  const auto above = std::ranges::lower_bound(streams_, streams, {},
                                              [](const auto& point) { return point.first; });
  if (above == streams_.end()) return streams_.back().second;
  if (above->first == streams) return above->second;
  if (above == streams_.begin()) {
    // Fewer than were ever measured have their share of those.
    return above->second * streams / above->first;
  }
  return OnLine(*(above - 1), *above, streams);
}

double DeviceModel::PartUs(uint64_t bytes) const {
  return bytes == 0 ? 0 : LoadUs(0, bytes).value_or(0);
}

DeviceModel DeviceModel::Slowed(double io_ratio, double compute_ratio, double embed_io_us) const {
  DeviceModel slower = *this;
  slower.fixed_.embed_io_us = embed_io_us;
  slower.fixed_.embed_us *= compute_ratio;
  slower.fixed_.head_us *= compute_ratio;
  for (auto* layers : {&slower.widths_, &slower.last_}) {
    for (auto& [width, time_us] : *layers) time_us *= compute_ratio;
  }
  for (auto& [bits, extra_us] : slower.decode_) extra_us *= compute_ratio;
  for (auto& [bits, time_us] : slower.by_bits_) time_us *= io_ratio;
  for (auto& [bytes, time_us] : slower.by_bytes_) time_us *= io_ratio;
  for (auto& [streams, rate] : slower.streams_) rate /= io_ratio;
  return slower;
}

Result<DeviceModels> DeviceModels::Make(const DeviceProfile& profile, uint32_t length,
                                        uint64_t freq, const Judging& judging,
                                        std::optional<double> target_us, uint32_t batch) {
  const ProfileReading reading{freq, judging.interpolate, batch};
  STI_ASSIGN_OR_RETURN(DeviceModel median,
                       DeviceModel::Make(profile, length, Risk::kMedian, reading));
  STI_ASSIGN_OR_RETURN(DeviceModel p99, DeviceModel::Make(profile, length, Risk::kP99, reading));
  const DeviceModels by_item{std::move(median), std::move(p99), judging.risk};
  return by_item.ForRunsOf(target_us.value_or(0), profile);
}

Result<DeviceModels> DeviceModels::Make(const CheckedInput& input, uint32_t length, uint64_t freq,
                                        const Judging& judging, std::optional<double> target_us,
                                        uint32_t batch) {
  STI_ASSIGN_OR_RETURN(DeviceModels devices,
                       Make(input->profile, length, freq, judging, target_us, batch));
  if (input->info.head.rows() == OutputRows::kAll) {
    for (DeviceModel* device : {&devices.median, &devices.p99}) device->ForgetLastLayers();
  }
  return devices;
}

DeviceModels DeviceModels::ForRunsOf(double run_us, const DeviceProfile& profile) const {
  if (profile.io_series.empty()) return *this;
  const double io = RatioOfRun(profile.io_series, run_us);
  const double compute = RatioOfRun(profile.compute_series, run_us);
  return {median, median.Slowed(io, compute, p99.fixed().embed_io_us), risk};
}

namespace {

double Ratio(double ratio) { return std::isfinite(ratio) && ratio > 0 ? ratio : 1; }

}  // namespace

DeviceProfile DriftedProfile(const DeviceProfile& profile, double compute_ratio, double io_ratio) {
  const double compute = Ratio(compute_ratio);
  const double io = Ratio(io_ratio);
  DeviceProfile now = profile;
  for (IoSample& sample : now.io) {
    sample.load_us *= io;
    sample.p99_us *= io;
  }
  const auto drift = [&](std::vector<ComputeSample>& layers, std::vector<FixedSample>& fixed) {
    for (ComputeSample& sample : layers) {
      sample.layer_us *= compute;
      sample.p99_us *= compute;
      sample.last_us *= compute;
      sample.last_p99_us *= compute;
    }
    for (FixedSample& sample : fixed) {
      sample.embed_us *= compute;
      sample.embed_p99_us *= compute;
      sample.head_us *= compute;
      sample.head_p99_us *= compute;
      sample.embed_io_us *= io;
      sample.embed_io_p99_us *= io;
    }
  };
  drift(now.compute, now.fixed);
  for (BatchSamples& samples : now.batches) drift(samples.compute, samples.fixed);
  for (DecodeSample& sample : now.decode) sample.extra_us *= compute;
  for (StreamRate& rate : now.streams) rate.bytes_per_us /= io;
  return now;
}

}  // namespace sti
