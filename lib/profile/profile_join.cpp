#include "profile/profile_join.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "profile/statistics.h"
#include "types/limits.h"

namespace sti {
namespace {

// A p99 that was not measured is its median.
double P99(double median_us, double p99_us) { return std::max(median_us, p99_us); }

bool IsSame(const IoSample& a, const IoSample& b) { return a.bytes == b.bytes && a.bits == b.bits; }
bool IsSame(const ComputeSample& a, const ComputeSample& b) {
  return a.length == b.length && a.width == b.width && a.freq == b.freq;
}
bool IsSame(const DecodeSample& a, const DecodeSample& b) {
  return a.bits == b.bits && a.freq == b.freq;
}
bool IsSame(const FixedSample& a, const FixedSample& b) { return a.length == b.length; }

void Slower(const IoSample& from, IoSample* to) {
  to->p99_us = std::max(P99(to->load_us, to->p99_us), P99(from.load_us, from.p99_us));
  to->load_us = std::max(to->load_us, from.load_us);
}

// A last layer that was not measured counts as any other.
void Slower(const ComputeSample& from, ComputeSample* to) {
  to->p99_us = std::max(P99(to->layer_us, to->p99_us), P99(from.layer_us, from.p99_us));
  to->layer_us = std::max(to->layer_us, from.layer_us);
  const bool known = from.last_us > 0 && to->last_us > 0;
  to->last_p99_us =
      known ? std::max(P99(to->last_us, to->last_p99_us), P99(from.last_us, from.last_p99_us)) : 0;
  to->last_us = known ? std::max(to->last_us, from.last_us) : 0;
}

void Slower(const DecodeSample& from, DecodeSample* to) {
  to->extra_us = std::max(to->extra_us, from.extra_us);
}

void Slower(const FixedSample& from, FixedSample* to) {
  to->embed_p99_us =
      std::max(P99(to->embed_us, to->embed_p99_us), P99(from.embed_us, from.embed_p99_us));
  to->embed_io_p99_us = std::max(P99(to->embed_io_us, to->embed_io_p99_us),
                                 P99(from.embed_io_us, from.embed_io_p99_us));
  to->head_p99_us =
      std::max(P99(to->head_us, to->head_p99_us), P99(from.head_us, from.head_p99_us));
  to->embed_us = std::max(to->embed_us, from.embed_us);
  to->embed_io_us = std::max(to->embed_io_us, from.embed_io_us);
  to->head_us = std::max(to->head_us, from.head_us);
}

template <typename Sample>
void AddAll(const std::vector<Sample>& from, std::vector<Sample>* to) {
  for (const Sample& sample : from) {
    const auto same = std::find_if(to->begin(), to->end(),
                                   [&](const Sample& other) { return IsSame(other, sample); });
    if (same == to->end()) {
      to->push_back(sample);
    } else {
      Slower(sample, &*same);
    }
  }
}

/// Keeps of the series those lengths that both profiles have, with the larger p99.
void JoinSeries(const std::vector<SeriesSample>& from, std::vector<SeriesSample>* to) {
  const auto other = [&](const SeriesSample& sample) {
    return std::find_if(from.begin(), from.end(), [&](const SeriesSample& candidate) {
      return candidate.median_us == sample.median_us;
    });
  };
  std::erase_if(*to, [&](const SeriesSample& sample) { return other(sample) == from.end(); });
  for (SeriesSample& sample : *to) sample.p99_us = std::max(sample.p99_us, other(sample)->p99_us);
}

void SortByLength(std::vector<FixedSample>* fixed) {
  std::ranges::sort(*fixed, {}, &FixedSample::length);
}

/// Adds the times of passes of several inputs. Those of a number of inputs that one profile alone
/// has stay as they are.
void AddBatches(const std::vector<BatchSamples>& from, std::vector<BatchSamples>* to) {
  for (const BatchSamples& samples : from) {
    const auto same = std::ranges::find(*to, samples.batch, &BatchSamples::batch);
    if (same == to->end()) {
      to->push_back(samples);
    } else {
      AddAll(samples.compute, &same->compute);
      AddAll(samples.fixed, &same->fixed);
      SortByLength(&same->fixed);
    }
  }
  std::ranges::sort(*to, {}, &BatchSamples::batch);
}

bool SaysItsClock(const DeviceProfile& profile) {
  return std::any_of(profile.compute.begin(), profile.compute.end(),
                     [](const ComputeSample& sample) { return sample.freq != 0; });
}

std::string OrNone(const std::string& text) { return text.empty() ? "none" : text; }

// Returns what tells two profiles apart that cannot be joined, as "shape (12ab, not 34cd)".
std::string DifferenceOf(const DeviceProfile& a, const DeviceProfile& b) {
  const auto pair = [](const char* what, const std::string& is, const std::string& is_not) {
    return std::string(what) + " (" + OrNone(is) + ", not " + OrNone(is_not) + ")";
  };
  const auto digest = [](const Digest& shape) { return shape.empty() ? "" : shape.Prefix(); };
  if (a.shape != b.shape) return pair("model shape", digest(a.shape), digest(b.shape));
  if (a.kernel.name != b.kernel.name) return pair("kernel", a.kernel.name, b.kernel.name);
  if (a.read_path != b.read_path) return pair("read path", a.read_path, b.read_path);
  if (a.threads != b.threads)
    return pair("number of threads", std::to_string(a.threads), std::to_string(b.threads));
  if (a.cpus != b.cpus) return pair("list of cores", Clipped(a.cpus), Clipped(b.cpus));
  return "";
}

Status CheckGoTogether(const NamedProfile& first, const NamedProfile& other) {
  const std::string difference = DifferenceOf(other.profile, first.profile);
  if (!difference.empty())
    return ForeignError("has another " + difference + " than " + first.name).At(other.name);
  if (SaysItsClock(first.profile) == SaysItsClock(other.profile)) return {};
  const bool first_says = SaysItsClock(first.profile);
  return ForeignError("does not say its clock, and " + (first_says ? first.name : other.name) +
                      " does")
      .At(first_says ? other.name : first.name);
}

template <typename Number>
void TakeLeast(Number from, Number* to) {
  if (from != 0) *to = *to == 0 ? from : std::min(*to, from);
}

void AddOnce(const DeviceProfile& from, DeviceProfile* to) {
  if (to->machine.empty()) to->machine = from.machine;
  if (to->read_bytes == 0 || to->read_depth == 0) {
    to->read_bytes = from.read_bytes;
    to->read_depth = from.read_depth;
    to->read_streams = from.read_streams;
    to->streams = from.streams;
  }
  to->process_bytes = std::max(to->process_bytes, from.process_bytes);
  to->start_us = std::max(to->start_us, from.start_us);
  to->noise = std::max(to->noise, from.noise);
  TakeLeast(from.thermal.freq_min, &to->thermal.freq_min);
  to->thermal.freq_max = std::max(to->thermal.freq_max, from.thermal.freq_max);
  TakeLeast(from.thermal.celsius_before, &to->thermal.celsius_before);
  to->thermal.celsius_after = std::max(to->thermal.celsius_after, from.thermal.celsius_after);
}

}  // namespace

Result<DeviceProfile> JoinProfiles(const std::vector<NamedProfile>& profiles) {
  if (profiles.empty()) return UsageError("there are no profiles to join");
  DeviceProfile joined = profiles.front().profile;
  for (size_t i = 1; i < profiles.size(); ++i) {
    STI_RETURN_IF_ERROR(CheckGoTogether(profiles.front(), profiles[i]));
    AddAll(profiles[i].profile.io, &joined.io);
    AddAll(profiles[i].profile.compute, &joined.compute);
    AddAll(profiles[i].profile.decode, &joined.decode);
    AddAll(profiles[i].profile.fixed, &joined.fixed);
    AddBatches(profiles[i].profile.batches, &joined.batches);
    JoinSeries(profiles[i].profile.io_series, &joined.io_series);
    JoinSeries(profiles[i].profile.compute_series, &joined.compute_series);
    AddOnce(profiles[i].profile, &joined);
  }
  if (joined.io_series.empty() || joined.compute_series.empty()) {
    joined.io_series.clear();
    joined.compute_series.clear();
  }
  SortByLength(&joined.fixed);
  if (joined.batches.size() > kMaxProfiledBatches) {
    return UsageError("together they have passes of " + std::to_string(joined.batches.size()) +
                      " numbers of inputs; a profile has at most " +
                      std::to_string(kMaxProfiledBatches));
  }
  SmoothProfile(joined);
  return joined;
}

}  // namespace sti
