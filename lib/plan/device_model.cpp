#include "plan/device_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "base/remedy.h"

namespace sti {
namespace {

Error ProfileError(const char* list, size_t index, const char* field, const char* problem) {
  return DataError(std::string(list) + "[" + std::to_string(index) + "]." + field + " " + problem)
      .In(Source::kProfile)
      .Fix(Remedy::kCorrectProfile);
}

// Two ratios of rounded times are equal if they are so close.
constexpr double kRatioTolerance = 1e-9;

double RatioOf(const SeriesSample& sample) { return sample.p99_us / sample.median_us; }

/// A time must be a number and not negative; layer times must not be 0 either.
Status CheckTime(const char* list, size_t index, const char* field, double time_us,
                 bool zero_allowed) {
  if (!std::isfinite(time_us)) return ProfileError(list, index, field, "is not a finite number");
  if (time_us < 0) return ProfileError(list, index, field, "is negative");
  if (time_us == 0 && !zero_allowed) return ProfileError(list, index, field, "is 0");
  return {};
}

/// 0 where it was not measured.
Status CheckP99(const char* list, size_t index, double median_us, double p99_us,
                const char* field = "p99_us") {
  STI_RETURN_IF_ERROR(CheckTime(list, index, field, p99_us, true));
  if (p99_us != 0 && p99_us < median_us)
    return ProfileError(list, index, field, "is below the median");
  return {};
}

Status CheckIo(const IoSample& sample, size_t index) {
  if ((sample.bytes == 0) == (sample.bits == 0))
    return ProfileError("io", index, "bytes", "or bits must be given, and not both");
  STI_RETURN_IF_ERROR(CheckTime("io", index, "load_us", sample.load_us, true));
  return CheckP99("io", index, sample.load_us, sample.p99_us);
}

Status CheckCompute(const ComputeSample& sample, size_t index) {
  if (sample.length == 0) return ProfileError("compute", index, "length", "is 0");
  if (sample.width == 0) return ProfileError("compute", index, "width", "is 0");
  STI_RETURN_IF_ERROR(CheckTime("compute", index, "layer_us", sample.layer_us, false));
  STI_RETURN_IF_ERROR(CheckP99("compute", index, sample.layer_us, sample.p99_us));
  STI_RETURN_IF_ERROR(CheckTime("compute", index, "last_us", sample.last_us, true));
  return CheckP99("compute", index, sample.last_us, sample.last_p99_us, "last_p99_us");
}

/// No layer takes less than nothing, whatever its bits.
Status CheckDecode(const DecodeSample& sample, size_t index, double least_slice_us) {
  if (!std::isfinite(sample.extra_us))
    return ProfileError("decode", index, "extra_us", "is not a finite number");
  if (sample.extra_us <= -least_slice_us)
    return ProfileError("decode", index, "extra_us", "takes off all that a layer takes");
  return {};
}

Status CheckFixed(const FixedSample& sample, size_t index) {
  if (sample.length == 0) return ProfileError("fixed", index, "length", "is 0");
  STI_RETURN_IF_ERROR(CheckTime("fixed", index, "embed_us", sample.embed_us, true));
  STI_RETURN_IF_ERROR(CheckTime("fixed", index, "embed_io_us", sample.embed_io_us, true));
  STI_RETURN_IF_ERROR(CheckTime("fixed", index, "head_us", sample.head_us, true));
  STI_RETURN_IF_ERROR(
      CheckP99("fixed", index, sample.embed_us, sample.embed_p99_us, "embed_p99_us"));
  STI_RETURN_IF_ERROR(
      CheckP99("fixed", index, sample.embed_io_us, sample.embed_io_p99_us, "embed_io_p99_us"));
  return CheckP99("fixed", index, sample.head_us, sample.head_p99_us, "head_p99_us");
}

/// An amount that is read or computed and its time, for comparing with others of its kind.
struct TimedAmount {
  std::array<uint64_t, 3> kind;  ///< what must be equal
  uint64_t amount = 0;
  double time_us = 0;
  size_t index = 0;  ///< in its list
};

/// Checks that a larger amount never takes less time. One amount may have been measured twice.
Status CheckAscending(const char* list, const char* field, std::vector<TimedAmount> amounts) {
  std::sort(amounts.begin(), amounts.end(), [](const TimedAmount& a, const TimedAmount& b) {
    return std::tie(a.kind, a.amount, a.time_us) < std::tie(b.kind, b.amount, b.time_us);
  });
  for (size_t i = 1; i < amounts.size(); ++i) {
    const TimedAmount& less = amounts[i - 1];
    const TimedAmount& more = amounts[i];
    if (less.kind == more.kind && more.time_us < less.time_us) {
      return ProfileError(list, more.index, field,
                          ("is less than that of less work, " + std::string(list) + "[" +
                           std::to_string(less.index) + "]")
                              .c_str());
    }
  }
  return {};
}

/// A p99 that was not measured is 0, and no p99 is below its median.
double TimeAt(Risk risk, double median_us, double p99_us) {
  return risk == Risk::kMedian ? median_us : std::max(median_us, p99_us);
}

/// Times ascend with width at each length and clock, and with length at each width and clock: of
/// all layers, or of last ones as far as they were measured.
Status CheckLayerOrder(const std::vector<ComputeSample>& compute, Risk risk, bool last) {
  std::vector<TimedAmount> layers;
  layers.reserve(2 * compute.size());
  for (size_t i = 0; i < compute.size(); ++i) {
    const ComputeSample& layer = compute[i];
    if (last && layer.last_us == 0) continue;
    const double time_us = last ? TimeAt(risk, layer.last_us, layer.last_p99_us)
                                : TimeAt(risk, layer.layer_us, layer.p99_us);
    layers.push_back({{0, layer.length, layer.freq}, layer.width, time_us, i});
    layers.push_back({{1, layer.width, layer.freq}, layer.length, time_us, i});
  }
  const char* median = last ? "last_us" : "layer_us";
  const char* p99 = last ? "last_p99_us" : "p99_us";
  return CheckAscending("compute", risk == Risk::kP99 ? p99 : median, std::move(layers));
}

/// A longer series never has a larger ratio: slow moments make up for each other.
Status CheckSeries(const char* list, const std::vector<SeriesSample>& series) {
  for (size_t i = 0; i < series.size(); ++i) {
    STI_RETURN_IF_ERROR(CheckTime(list, i, "median_us", series[i].median_us, false));
    STI_RETURN_IF_ERROR(CheckTime(list, i, "p99_us", series[i].p99_us, false));
    if (series[i].p99_us < series[i].median_us)
      return ProfileError(list, i, "p99_us", "is below the median");
    if (i == 0) continue;
    if (series[i].median_us <= series[i - 1].median_us)
      return ProfileError(list, i, "median_us", "does not ascend");
    if (RatioOf(series[i]) > RatioOf(series[i - 1]) * (1 + kRatioTolerance))
      return ProfileError(list, i, "p99_us", "is more of its median than that of a shorter series");
  }
  return {};
}

/// Times ascend with bytes and bits, and of layers as CheckLayerOrder says.
Status CheckOrder(const DeviceProfile& profile) {
  for (const Risk risk : {Risk::kMedian, Risk::kP99}) {
    std::vector<TimedAmount> reads;
    reads.reserve(profile.io.size());
    for (size_t i = 0; i < profile.io.size(); ++i) {
      const IoSample& io = profile.io[i];
      const double time_us = TimeAt(risk, io.load_us, io.p99_us);
      reads.push_back({{io.bits == 0, 0, 0}, io.bits == 0 ? io.bytes : io.bits, time_us, i});
    }
    const char* field = risk == Risk::kP99 ? "p99_us" : "load_us";
    STI_RETURN_IF_ERROR(CheckAscending("io", field, std::move(reads)));
    for (const bool last : {false, true})
      STI_RETURN_IF_ERROR(CheckLayerOrder(profile.compute, risk, last));
  }
  return {};
}

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
  if (above == series.begin()) return RatioOf(series.front());
  if (above == series.end()) return RatioOf(series.back());
  const SeriesSample& below = *(above - 1);
  return OnLine(std::pair(below.median_us, RatioOf(below)),
                std::pair(above->median_us, RatioOf(*above)), run_us);
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

}  // namespace

Status ValidateProfile(const DeviceProfile& profile) {
  if (profile.io.empty())
    return DataError("io is missing").In(Source::kProfile).Fix(Remedy::kCorrectProfile);
  if (profile.compute.empty())
    return DataError("compute is missing").In(Source::kProfile).Fix(Remedy::kCorrectProfile);
  for (size_t i = 0; i < profile.io.size(); ++i) STI_RETURN_IF_ERROR(CheckIo(profile.io[i], i));
  for (size_t i = 0; i < profile.compute.size(); ++i)
    STI_RETURN_IF_ERROR(CheckCompute(profile.compute[i], i));
  const double least_slice_us = LeastSliceUs(profile.compute);
  for (size_t i = 0; i < profile.decode.size(); ++i)
    STI_RETURN_IF_ERROR(CheckDecode(profile.decode[i], i, least_slice_us));
  for (size_t i = 0; i < profile.fixed.size(); ++i)
    STI_RETURN_IF_ERROR(CheckFixed(profile.fixed[i], i));
  if (!std::isfinite(profile.start_us) || profile.start_us < 0)
    return DataError("start_us is not a time").In(Source::kProfile).Fix(Remedy::kCorrectProfile);
  if (profile.io_series.empty() != profile.compute_series.empty()) {
    return DataError("one of io_series and compute_series is missing")
        .In(Source::kProfile)
        .Fix(Remedy::kCorrectProfile);
  }
  STI_RETURN_IF_ERROR(CheckSeries("io_series", profile.io_series));
  STI_RETURN_IF_ERROR(CheckSeries("compute_series", profile.compute_series));
  return CheckOrder(profile);
}

uint32_t LongestProfiledLength(const DeviceProfile& profile) {
  uint32_t longest = 0;
  for (const ComputeSample& sample : profile.compute) longest = std::max(longest, sample.length);
  return longest;
}

Result<DeviceModel> DeviceModel::Make(const DeviceProfile& profile, uint32_t length, Risk risk,
                                      const ProfileReading& reading) {
  DeviceModel model;
  const std::optional<uint32_t> holding = HoldingLength(profile.compute, length);
  if (!holding) {
    return UsageError("no profiled length holds " + std::to_string(length) +
                      " tokens, the profile has " + Lengths(profile.compute))
        .Fix(Remedy::kMeasureLengths);
  }
  model.length_ = *holding;
  model.interpolate_ = reading.interpolate;
  model.widths_were_chosen_ = profile.provenance == Provenance::kMeasured;
  model.widths_ = LayerTimes(profile.compute, *holding, risk, reading.freq, false);
  model.last_ = LayerTimes(profile.compute, *holding, risk, reading.freq, true);
  model.decode_ = DecodeTimes(profile.decode, reading.freq);
  if (model.widths_.empty()) {
    return UsageError("no layer times at " + std::to_string(reading.freq) +
                      " kHz or less; ask for a clock that was profiled")
        .In(Source::kProfile);
  }
  if (!profile.fixed.empty()) {
    const std::optional<uint32_t> row = HoldingLength(profile.fixed, length);
    if (!row) {
      return DataError("fixed has lengths " + Lengths(profile.fixed) + ", none holds " +
                       std::to_string(length) + " tokens")
          .In(Source::kProfile)
          .Fix(Remedy::kMeasureAgain);
    }
    for (const FixedSample& sample : profile.fixed) {
      if (sample.length != *row) continue;
      model.fixed_ = {TimeAt(risk, sample.embed_us, sample.embed_p99_us),
                      TimeAt(risk, sample.embed_io_us, sample.embed_io_p99_us),
                      TimeAt(risk, sample.head_us, sample.head_p99_us),
                      std::min(RowsStartUs(profile.fixed), sample.embed_io_us)};
    }
  }
  for (const IoSample& sample : profile.io) {
    const double time_us = TimeAt(risk, sample.load_us, sample.p99_us);
    if (sample.bits != 0) model.by_bits_.emplace_back(sample.bits, time_us);
    if (sample.bytes != 0) model.by_bytes_.emplace_back(sample.bytes, time_us);
  }
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
  return slower;
}

Result<DeviceModels> DeviceModels::Make(const DeviceProfile& profile, uint32_t length,
                                        uint64_t freq, const Judging& judging,
                                        std::optional<double> target_us) {
  const ProfileReading reading{freq, judging.interpolate};
  STI_ASSIGN_OR_RETURN(DeviceModel median,
                       DeviceModel::Make(profile, length, Risk::kMedian, reading));
  STI_ASSIGN_OR_RETURN(DeviceModel p99, DeviceModel::Make(profile, length, Risk::kP99, reading));
  const DeviceModels by_item{std::move(median), std::move(p99), judging.risk};
  return by_item.ForRunsOf(target_us.value_or(0), profile);
}

DeviceModels DeviceModels::ForRunsOf(double run_us, const DeviceProfile& profile) const {
  if (profile.io_series.empty()) return *this;
  const double io = RatioOfRun(profile.io_series, run_us);
  const double compute = RatioOfRun(profile.compute_series, run_us);
  return {median, median.Slowed(io, compute, p99.fixed().embed_io_us), risk};
}

}  // namespace sti
