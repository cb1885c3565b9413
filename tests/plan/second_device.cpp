#include "second_device.h"

#include <algorithm>
#include <map>

namespace sti::test {
namespace {

/// "Absent: the median", and no 99th percentile is below it.
double P99Of(double median_us, double p99_us) { return std::max(median_us, p99_us); }

/// The ratio of a series as long as a run: on the straight line between two entries, and beyond the
/// ends that of the nearest.
double RatioOf(const std::vector<SeriesSample>& series, double run_us) {
  const auto ratio = [&](size_t i) { return series[i].p99_us / series[i].median_us; };
  if (run_us <= series.front().median_us) return ratio(0);
  for (size_t i = 1; i < series.size(); ++i) {
    if (run_us > series[i].median_us) continue;
    const double from_us = series[i - 1].median_us;
    const double way = (run_us - from_us) / (series[i].median_us - from_us);
    return ratio(i - 1) + way * (ratio(i) - ratio(i - 1));
  }
  return ratio(series.size() - 1);
}

/// The share of one measured length. More words, and more room, never read more.
SecondShare ShareAt(const WordUse& use, uint32_t length, uint32_t longest, size_t words) {
  SecondShare least;
  for (const RowReads& reads : use.reads) {
    if (reads.length != length || reads.words > words) continue;
    SecondShare share{reads.share, reads.p99_share};
    for (const RowRoom& room : reads.rooms) {
      if (room.tokens <= longest) share = {room.share, room.p99_share};
    }
    least = {std::min(least.median, share.median), std::min(least.p99, share.p99)};
  }
  return least;
}

}  // namespace

SecondShare SecondShareOf(const Importance* importance, uint32_t tokens, uint32_t longest,
                          size_t words) {
  if (importance == nullptr) return {};
  std::optional<uint32_t> below;
  std::optional<uint32_t> above;
  for (const RowReads& reads : importance->word_use.reads) {
    if (reads.length <= tokens) below = std::max(below.value_or(0), reads.length);
    if (reads.length >= tokens) above = std::min(above.value_or(UINT32_MAX), reads.length);
  }
  if (!above) return {};  // nothing is known of texts so long
  const SecondShare longer = ShareAt(importance->word_use, *above, longest, words);
  if (!below) return longer;
  const SecondShare shorter = ShareAt(importance->word_use, *below, longest, words);
  return {std::max(longer.median, shorter.median), std::max(longer.p99, shorter.p99)};
}

SecondDevice::SecondDevice(const DeviceProfile& profile, uint32_t tokens, uint64_t freq, Risk risk,
                           double run_us, SecondShare share)
    : profile_(profile),
      tokens_(tokens),
      layers_length_(UINT32_MAX),
      freq_(0),
      risk_(risk),
      run_us_(run_us),
      share_(share) {
  for (const ComputeSample& sample : profile.compute) {
    if (sample.length >= tokens) layers_length_ = std::min(layers_length_, sample.length);
    if (freq == 0 || sample.freq <= freq) freq_ = std::max(freq_, sample.freq);
  }
}

double SecondDevice::OfLane(const std::vector<SeriesSample>& series, double median_us,
                            double p99_us) const {
  if (risk_ == Risk::kMedian) return median_us;
  return series.empty() ? p99_us : median_us * RatioOf(series, run_us_);
}

double SecondDevice::LayerUs(uint32_t width, bool last) const {
  double median_us = 0;
  double p99_us = 0;
  for (const ComputeSample& sample : profile_.compute) {
    if (sample.length != layers_length_ || sample.freq != freq_ || sample.width != width) continue;
    const bool has_last = last && sample.last_us > 0;
    const double one_us = has_last ? sample.last_us : sample.layer_us;
    median_us = std::max(median_us, one_us);
    p99_us = std::max(p99_us, P99Of(one_us, has_last ? sample.last_p99_us : sample.p99_us));
  }
  return OfLane(profile_.compute_series, median_us, p99_us);
}

double SecondDevice::ExtraUs(uint32_t bits) const {
  std::optional<double> extra_us;
  for (const DecodeSample& sample : profile_.decode) {
    if (sample.bits == bits && sample.freq == freq_)
      extra_us = std::max(extra_us.value_or(sample.extra_us), sample.extra_us);
  }
  return OfLane(profile_.compute_series, extra_us.value_or(0), extra_us.value_or(0));
}

std::optional<double> SecondDevice::LoadByBits(uint32_t bits) const {
  std::optional<double> median_us;
  double p99_us = 0;
  for (const IoSample& sample : profile_.io) {
    if (sample.bits == 0 || sample.bits != bits) continue;
    median_us = std::max(median_us.value_or(0), sample.load_us);
    p99_us = std::max(p99_us, P99Of(sample.load_us, sample.p99_us));
  }
  if (!median_us) return std::nullopt;
  return OfLane(profile_.io_series, *median_us, p99_us);
}

/// Between two sizes on the straight line; beyond the ends on the line of the two sizes there, and
/// never below 0. A single size says how long each byte takes.
double SecondDevice::LoadByBytes(uint64_t bytes, bool median) const {
  std::map<uint64_t, double> points;
  for (const IoSample& sample : profile_.io) {
    if (sample.bytes == 0) continue;
    double& time_us = points[sample.bytes];
    time_us = std::max(time_us, median ? sample.load_us : P99Of(sample.load_us, sample.p99_us));
  }
  const auto size = static_cast<double>(bytes);
  if (points.size() == 1)
    return points.begin()->second * size / static_cast<double>(points.begin()->first);
  auto right = points.lower_bound(bytes);
  if (right == points.begin()) ++right;
  if (right == points.end()) --right;
  const auto left = std::prev(right);
  const double slope = (right->second - left->second) /
                       (static_cast<double>(right->first) - static_cast<double>(left->first));
  return std::max(0.0, left->second + slope * (size - static_cast<double>(left->first)));
}

double SecondDevice::LoadUs(uint32_t bits, uint64_t bytes) const {
  if (const auto by_bits = LoadByBits(bits)) return *by_bits;
  return OfLane(profile_.io_series, LoadByBytes(bytes, true), LoadByBytes(bytes, false));
}

double SecondDevice::LoadMissingUs(uint32_t held, uint32_t bits, uint64_t bytes) const {
  if (LoadByBits(bits)) return *LoadByBits(bits) - *LoadByBits(held);
  return LoadUs(bits, bytes);
}

FixedSample SecondDevice::Fixed() const {
  FixedSample found;
  found.length = UINT32_MAX;
  for (const FixedSample& sample : profile_.fixed) {
    if (sample.length >= tokens_ && sample.length < found.length) found = sample;
  }
  found.embed_p99_us = P99Of(found.embed_us, found.embed_p99_us);
  found.embed_io_p99_us = P99Of(found.embed_io_us, found.embed_io_p99_us);
  found.head_p99_us = P99Of(found.head_us, found.head_p99_us);
  return found;
}

double SecondDevice::EmbedUs() const {
  return OfLane(profile_.compute_series, Fixed().embed_us, Fixed().embed_p99_us);
}

double SecondDevice::HeadUs() const {
  return OfLane(profile_.compute_series, Fixed().head_us, Fixed().head_p99_us);
}

double SecondDevice::RowsUs() const {
  const FixedSample fixed = Fixed();
  const double all_us = risk_ == Risk::kMedian ? fixed.embed_io_us : fixed.embed_io_p99_us;
  const double share = risk_ == Risk::kMedian ? share_.median : share_.p99;
  if (share == 0) return 0;
  // Some rows take as long to begin as all do, by the line through the shortest length and one
  // twice as long, less the rows of a text without tokens.
  std::map<uint32_t, double> rows_us;
  for (const FixedSample& sample : profile_.fixed) rows_us[sample.length] = sample.embed_io_us;
  double begin_us = 0;
  if (!rows_us.empty()) {
    const auto shortest = rows_us.begin();
    const auto longer = rows_us.lower_bound(2 * shortest->first);
    if (longer != rows_us.end()) {
      const double slope = (longer->second - shortest->second) /
                           static_cast<double>(longer->first - shortest->first);
      begin_us = shortest->second - slope * (shortest->first + 2.0);
    }
  }
  begin_us = std::clamp(begin_us, 0.0, fixed.embed_io_us);
  return begin_us + (all_us - begin_us) * share;
}

}  // namespace sti::test
