#include "types/profile_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "types/bits.h"
#include "types/file_text.h"
#include "types/limits.h"

namespace sti {
namespace {

using Fault = std::optional<std::string>;

// Two ratios of rounded times are equal if they are so close.
constexpr double kRatioTolerance = 1e-9;

std::string Item(const char* list, size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

/// One entry of a list: names the field of a fault.
struct Entry {
  const char* list;
  size_t index;

  [[nodiscard]] Fault Wrong(const char* field, const std::string& problem) const {
    return Item(list, index) + "." + field + " " + problem;
  }
  /// A time is a number, not negative and not beyond what any device takes.
  [[nodiscard]] Fault Time(const char* field, double time_us) const {
    if (!std::isfinite(time_us)) return Wrong(field, "is not a finite number");
    if (time_us < 0) return Wrong(field, "is negative");
    if (time_us > kMaxSampleUs) return Wrong(field, "is above 10^9, which is seventeen minutes");
    return {};
  }
  [[nodiscard]] Fault TimeAboveZero(const char* field, double time_us) const {
    if (time_us == 0) return Wrong(field, "is 0");
    return Time(field, time_us);
  }
  /// A p99 is 0 where it was not measured.
  [[nodiscard]] Fault P99(const char* field, double median_us, double p99_us) const {
    if (Fault fault = Time(field, p99_us)) return fault;
    if (p99_us != 0 && p99_us < median_us) return Wrong(field, "is below the median");
    return {};
  }
  [[nodiscard]] Fault Length(uint32_t length) const {
    if (length == 0) return Wrong("length", "is 0");
    if (length > kMaxLength) return Wrong("length", "is above 1048576");
    return {};
  }
};

Fault CheckIo(const IoSample& sample, const Entry& entry) {
  if ((sample.bytes == 0) == (sample.bits == 0))
    return entry.Wrong("bytes", "or bits must be given, and not both");
  if (sample.bits != 0 && !IsBits(sample.bits)) return entry.Wrong("bits", "is not 2 to 6, or 32");
  if (sample.bytes > kMaxProfiledBytes) return entry.Wrong("bytes", "is above 2^40");
  if (Fault fault = entry.Time("load_us", sample.load_us)) return fault;
  return entry.P99("p99_us", sample.load_us, sample.p99_us);
}

Fault CheckCompute(const ComputeSample& sample, const Entry& entry) {
  if (Fault fault = entry.Length(sample.length)) return fault;
  if (sample.width == 0) return entry.Wrong("width", "is 0");
  if (sample.width > kMaxWidth) return entry.Wrong("width", "is above 256");
  if (Fault fault = entry.TimeAboveZero("layer_us", sample.layer_us)) return fault;
  if (Fault fault = entry.P99("p99_us", sample.layer_us, sample.p99_us)) return fault;
  if (Fault fault = entry.Time("last_us", sample.last_us)) return fault;
  return entry.P99("last_p99_us", sample.last_us, sample.last_p99_us);
}

/// No layer takes less than nothing, whatever its bits.
Fault CheckDecode(const DecodeSample& sample, double least_slice_us, const Entry& entry) {
  if (!IsBits(sample.bits)) return entry.Wrong("bits", "is not 2 to 6, or 32");
  if (!std::isfinite(sample.extra_us)) return entry.Wrong("extra_us", "is not a finite number");
  if (sample.extra_us > kMaxSampleUs)
    return entry.Wrong("extra_us", "is above 10^9, which is seventeen minutes");
  if (sample.extra_us <= -least_slice_us)
    return entry.Wrong("extra_us", "takes off all that a layer takes");
  return {};
}

Fault CheckFixed(const FixedSample& sample, const Entry& entry) {
  if (Fault fault = entry.Length(sample.length)) return fault;
  const std::tuple<const char*, double, const char*, double> times[] = {
      {"embed_us", sample.embed_us, "embed_p99_us", sample.embed_p99_us},
      {"embed_io_us", sample.embed_io_us, "embed_io_p99_us", sample.embed_io_p99_us},
      {"head_us", sample.head_us, "head_p99_us", sample.head_p99_us}};
  for (const auto& [median, median_us, p99, p99_us] : times) {
    if (Fault fault = entry.Time(median, median_us)) return fault;
    if (Fault fault = entry.P99(p99, median_us, p99_us)) return fault;
  }
  return {};
}

/// A longer series never has a larger ratio: slow moments make up for each other.
Fault CheckSeries(const char* list, const std::vector<SeriesSample>& series) {
  for (size_t i = 0; i < series.size(); ++i) {
    const Entry entry{list, i};
    if (Fault fault = entry.TimeAboveZero("median_us", series[i].median_us)) return fault;
    if (Fault fault = entry.TimeAboveZero("p99_us", series[i].p99_us)) return fault;
    if (Fault fault = entry.P99("p99_us", series[i].median_us, series[i].p99_us)) return fault;
    if (i == 0) continue;
    if (series[i].median_us <= series[i - 1].median_us)
      return entry.Wrong("median_us", "does not ascend");
    if (series[i].ratio() > series[i - 1].ratio() * (1 + kRatioTolerance))
      return entry.Wrong("p99_us", "is more of its median than that of a shorter series");
  }
  return {};
}

/// An amount that is read or computed and its time, for comparing with others of its kind.
struct TimedAmount {
  std::array<uint64_t, 3> kind;  ///< what must be equal
  uint64_t amount = 0;
  double time_us = 0;
  size_t index = 0;  ///< in its list
};

/// Checks that a larger amount never takes less time. One amount may have been measured twice.
Fault CheckAscending(const char* list, const char* field, std::vector<TimedAmount> amounts) {
  std::sort(amounts.begin(), amounts.end(), [](const TimedAmount& a, const TimedAmount& b) {
    return std::tie(a.kind, a.amount, a.time_us) < std::tie(b.kind, b.amount, b.time_us);
  });
  for (size_t i = 1; i < amounts.size(); ++i) {
    const TimedAmount& less = amounts[i - 1];
    const TimedAmount& more = amounts[i];
    if (less.kind == more.kind && more.time_us < less.time_us) {
      return Entry{list, more.index}.Wrong(
          field, "is less than that of less work, " + Item(list, less.index));
    }
  }
  return {};
}

/// Times ascend with width at each length and clock, and with length at each width and clock: of
/// all layers, or of last ones as far as they were measured.
Fault CheckLayerOrder(const char* list, const std::vector<ComputeSample>& compute, Risk risk,
                      bool last) {
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
  return CheckAscending(list, risk == Risk::kP99 ? p99 : median, std::move(layers));
}

/// Times ascend with bytes and bits, and of layers as CheckLayerOrder says.
Fault CheckOrder(const DeviceProfile& profile) {
  for (const Risk risk : {Risk::kMedian, Risk::kP99}) {
    std::vector<TimedAmount> reads;
    reads.reserve(profile.io.size());
    for (size_t i = 0; i < profile.io.size(); ++i) {
      const IoSample& io = profile.io[i];
      const double time_us = TimeAt(risk, io.load_us, io.p99_us);
      reads.push_back({{io.bits == 0, 0, 0}, io.bits == 0 ? io.bytes : io.bits, time_us, i});
    }
    const char* field = risk == Risk::kP99 ? "p99_us" : "load_us";
    if (Fault fault = CheckAscending("io", field, std::move(reads))) return fault;
    for (const bool last : {false, true}) {
      if (Fault fault = CheckLayerOrder("compute", profile.compute, risk, last)) return fault;
      for (size_t i = 0; i < profile.batches.size(); ++i) {
        const std::string list = Item("batches", i) + ".compute";
        if (Fault fault = CheckLayerOrder(list.c_str(), profile.batches[i].compute, risk, last))
          return fault;
      }
    }
  }
  return {};
}

/// Checks what stands once.
Fault CheckNumbers(const DeviceProfile& profile) {
  if (profile.threads > kMaxThreads) return "threads is above 256";
  if (profile.process_bytes > kMaxProfiledBytes) return "process_bytes is above 2^40";
  if (profile.read_bytes > kMaxMergedReadBytes || profile.read_bytes % kBlockBytes != 0)
    return "read_bytes is not a multiple of 4096 up to 67108864";
  if (profile.read_depth > kMaxReadsInFlight) return "read_depth is above 256";
  if (profile.read_streams > kMaxReadStreams) return "read_streams is above 16";
  // Comparisons with NaN are false.
  if (!(profile.start_us >= 0 && profile.start_us <= kMaxSampleUs))
    return "start_us is not from 0 to 10^9";
  if (!(profile.noise >= 0 && profile.noise <= kMaxNoise)) return "noise is not from 0 to 10^6";
  for (const double celsius : {profile.thermal.celsius_before, profile.thermal.celsius_after}) {
    if (!(std::abs(celsius) <= kMaxCelsius))
      return "thermal holds a temperature that is not from -10^6 to 10^6";
  }
  return {};
}

Fault CheckSizes(const DeviceProfile& profile) {
  const std::pair<const char*, size_t> lists[] = {
      {"io", profile.io.size()},
      {"compute", profile.compute.size()},
      {"decode", profile.decode.size()},
      {"fixed", profile.fixed.size()},
      {"io_series", profile.io_series.size()},
      {"compute_series", profile.compute_series.size()}};
  for (const auto& [list, entries] : lists) {
    if (entries > kMaxProfileSamples) return TooManyEntries(list);
  }
  if (profile.io.empty()) return "io is missing";
  if (profile.compute.empty()) return "compute is missing";
  if (profile.io_series.empty() != profile.compute_series.empty())
    return "one of io_series and compute_series is missing";
  return {};
}

/// Checks each layer and each of the times beside layers by itself. `place` opens the names of both
/// lists.
Fault CheckTimes(const std::string& place, const std::vector<ComputeSample>& compute,
                 const std::vector<FixedSample>& fixed) {
  const std::string compute_list = place + "compute";
  const std::string fixed_list = place + "fixed";
  for (size_t i = 0; i < compute.size(); ++i) {
    if (Fault fault = CheckCompute(compute[i], {compute_list.c_str(), i})) return fault;
  }
  for (size_t i = 0; i < fixed.size(); ++i) {
    if (Fault fault = CheckFixed(fixed[i], {fixed_list.c_str(), i})) return fault;
  }
  return {};
}

/// Checks the times of passes of several inputs.
Fault CheckBatches(const std::vector<BatchSamples>& batches) {
  if (batches.size() > kMaxProfiledBatches) return "batches has more than 16 entries";
  for (size_t i = 0; i < batches.size(); ++i) {
    const Entry entry{"batches", i};
    const BatchSamples& samples = batches[i];
    if (samples.batch < 2 || samples.batch > kMaxMicrobatch)
      return entry.Wrong("batch", "is not from 2 to 256");
    if (i > 0 && samples.batch <= batches[i - 1].batch)
      return entry.Wrong("batch", "does not ascend");
    if (samples.compute.empty()) return entry.Wrong("compute", "is missing");
    const std::string place = Item("batches", i) + ".";
    for (const auto& [list, entries] :
         {std::pair("compute", samples.compute.size()), std::pair("fixed", samples.fixed.size())}) {
      if (entries > kMaxProfileSamples) return TooManyEntries((place + list).c_str());
    }
    if (Fault fault = CheckTimes(place, samples.compute, samples.fixed)) return fault;
  }
  return {};
}

/// Checks the rates through several open files.
Fault CheckStreams(const std::vector<StreamRate>& streams) {
  for (size_t i = 0; i < streams.size(); ++i) {
    const Entry entry{"streams", i};
    if (streams[i].streams == 0 || streams[i].streams > kMaxReadStreams)
      return entry.Wrong("streams", "is not from 1 to 16");
    if (i > 0 && streams[i].streams <= streams[i - 1].streams)
      return entry.Wrong("streams", "does not ascend");
    if (!(streams[i].bytes_per_us > 0 && streams[i].bytes_per_us <= kMaxBytesPerUs))
      return entry.Wrong("bytes_per_us", "is not above 0 and at most 10^6");
  }
  return {};
}

/// Checks each entry by itself.
Fault CheckEntries(const DeviceProfile& profile) {
  for (size_t i = 0; i < profile.io.size(); ++i) {
    if (Fault fault = CheckIo(profile.io[i], {"io", i})) return fault;
  }
  if (Fault fault = CheckTimes("", profile.compute, profile.fixed)) return fault;
  const double least_slice_us = LeastSliceUs(profile.compute);
  for (size_t i = 0; i < profile.decode.size(); ++i) {
    if (Fault fault = CheckDecode(profile.decode[i], least_slice_us, {"decode", i})) return fault;
  }
  if (Fault fault = CheckStreams(profile.streams)) return fault;
  return CheckBatches(profile.batches);
}

}  // namespace

std::string TooManyEntries(const char* list) {
  return std::string(list) + " has more than 65536 entries";
}

std::optional<std::string> FindProfileFault(const DeviceProfile& profile) {
  Fault text_fault =
      FindProfileTextFault(profile.cpus, profile.kernel.name, profile.read_path, profile.machine);
  if (text_fault) return text_fault;
  if (Fault fault = CheckSizes(profile)) return fault;
  if (Fault fault = CheckNumbers(profile)) return fault;
  if (Fault fault = CheckEntries(profile)) return fault;
  if (Fault fault = CheckSeries("io_series", profile.io_series)) return fault;
  if (Fault fault = CheckSeries("compute_series", profile.compute_series)) return fault;
  return CheckOrder(profile);
}

}  // namespace sti
