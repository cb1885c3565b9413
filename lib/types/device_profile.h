// The profile of a device: what its flash and cores take for parts of a model of one shape (STI
// 5.2). Plans are made of these times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "types/kernel.h"

namespace sti {

/// Who wrote a profile.
enum class Provenance : uint8_t {
  kWritten,   ///< a person: what is missing may have been forgotten
  kMeasured,  ///< sti-profile: what is missing was left out on purpose
};

/// Which measured time counts: the median, or the 99th percentile.
enum class Risk : uint8_t { kMedian, kP99 };

/// Returns the time that counts. A p99 that was not measured is 0, and no p99 is below its median.
inline double TimeAt(Risk risk, double median_us, double p99_us) {
  return risk == Risk::kMedian ? median_us : std::max(median_us, p99_us);
}

/// One measured read. Measured profiles say `bytes`; hand-written ones may say `bits`, the time of
/// one shard at that bitwidth. Exactly one of the two is not 0.
struct IoSample {
  uint64_t bytes = 0;
  uint32_t bits = 0;
  double load_us = 0;  ///< median
  double p99_us = 0;   ///< >= load_us; equal to it where not measured

  friend bool operator==(const IoSample&, const IoSample&) = default;
};

/// One layer of `width` slices, decoding from 6 bits included (STI 5.2, T_comp).
struct ComputeSample {
  uint32_t length = 0;
  uint32_t width = 0;
  double layer_us = 0;
  double p99_us = 0;
  uint64_t freq = 0;  ///< kHz, 0 unknown
  /// The time of this layer as the last of a submodel, which gives no more than first tokens. 0:
  /// not measured, it counts as any other.
  double last_us = 0;
  double last_p99_us = 0;  ///< >= last_us, or 0 where not measured

  friend bool operator==(const ComputeSample&, const ComputeSample&) = default;
};

/// Returns the least time that any of these layers has for one of its slices, as the last one too;
/// infinite of none. No bits take as much off a slice.
inline double LeastSliceUs(std::span<const ComputeSample> layers) {
  double least_us = std::numeric_limits<double>::infinity();
  for (const ComputeSample& layer : layers) {
    const double last_us = layer.last_us > 0 ? layer.last_us : layer.layer_us;
    least_us = std::min(least_us, std::min(layer.layer_us, last_us) / layer.width);
  }
  return least_us;
}

/// The time that decoding adds to a layer for each slice of `bits` instead of the 6 bits of
/// ComputeSample, whatever the length of the input. Negative: such a slice takes less.
struct DecodeSample {
  uint32_t bits = 0;
  double extra_us = 0;
  uint64_t freq = 0;  ///< kHz, 0 unknown

  friend bool operator==(const DecodeSample&, const DecodeSample&) = default;
};

/// Returns a p99 as it is used: 0, which stands for one that was not measured, is the median.
inline double P99Or(double median_us, double p99_us) { return p99_us == 0 ? median_us : p99_us; }

/// The times that are neither shard IO nor layer compute, at one input length.
struct FixedSample {
  uint32_t length = 0;
  double embed_us = 0;      ///< tokenising and summing embeddings
  double embed_io_us = 0;   ///< reading the embedding rows, on the IO lane
  double head_us = 0;       ///< pooler and classifier
  double embed_p99_us = 0;  ///< each p99 >= its median; equal to it where not measured
  double embed_io_p99_us = 0;
  double head_p99_us = 0;

  friend bool operator==(const FixedSample&, const FixedSample&) = default;
};

/// Times of passes of several inputs together, each of the samples' lengths. What decoding adds is
/// as for one: a pass decodes a layer once.
struct BatchSamples {
  uint32_t batch = 0;  ///< inputs of a pass, 2 or more
  std::vector<ComputeSample> compute;
  std::vector<FixedSample> fixed;
  friend bool operator==(const BatchSamples&, const BatchSamples&) = default;
};

/// Work of one lane done item after item, a series. The 99th percentile of a series is not the sum
/// of those of its items: a slow moment slows several at once, and others make up for each other.
struct SeriesSample {
  double median_us = 0;  ///< the sum of the items' medians
  double p99_us = 0;     ///< >= median_us

  [[nodiscard]] double ratio() const { return p99_us / median_us; }
  friend bool operator==(const SeriesSample&, const SeriesSample&) = default;
};

/// The rate at which a device is read through several open files of one container, with one read in
/// flight through each.
struct StreamRate {
  uint32_t streams = 0;  ///< open files
  double bytes_per_us = 0;
  friend bool operator==(const StreamRate&, const StreamRate&) = default;
};

/// The clock and the temperature of the cores while a profile was taken; 0 unknown.
struct ThermalState {
  uint64_t freq_min = 0;  ///< kHz, the lowest seen
  uint64_t freq_max = 0;
  double celsius_before = 0;
  double celsius_after = 0;

  friend bool operator==(const ThermalState&, const ThermalState&) = default;
};

/// The abilities of a device: T_io, T_comp, T_fixed (STI 5.2). Belongs to a device and a model
/// shape.
struct DeviceProfile {
  Digest shape;  ///< shape digest; empty in hand-written profiles that fit any shape
  std::vector<IoSample> io;
  std::vector<ComputeSample> compute;
  std::vector<DecodeSample> decode;  ///< bits that it lacks add nothing
  std::vector<FixedSample> fixed;
  /// The same of passes of several inputs, ascending by their number; empty where not measured.
  std::vector<BatchSamples> batches;
  /// Series of reads, and of layers: ascending in `median_us`, while p99_us / median_us never
  /// rises. Empty where not measured.
  std::vector<SeriesSample> io_series;
  std::vector<SeriesSample> compute_series;
  uint32_t threads = 0;
  std::string cpus;  ///< list such as "0-3"; empty: all
  Kernel kernel;     ///< arithmetic that was measured
  /// A file does not say: one that names its kernel was measured.
  Provenance provenance = Provenance::kWritten;
  std::string read_path;  ///< "uring", "threads" or "buffered"
  std::string machine;    ///< for people
  /// Resident memory of a runner that has answered an input, less shards, resident parts,
  /// vocabulary and what a run works in; 0 unknown.
  uint64_t process_bytes = 0;
  /// How to read this device: the largest merged read, and the reads in flight through one open
  /// file, beyond which its bandwidth no longer rises. 0 unknown.
  uint32_t read_bytes = 0;
  uint32_t read_depth = 0;
  /// The rates through several open files, ascending by their number; empty where not measured. The
  /// fewest that take the bandwidth: more than 1 where one file is not granted all of it; 0
  /// unknown.
  std::vector<StreamRate> streams;
  uint32_t read_streams = 0;
  /// From the start of a process to an open model, ready for a text, without its reads; 0 unknown.
  double start_us = 0;
  /// Widest confidence interval of any median here, half its width as a share; 0 not measured.
  double noise = 0;
  ThermalState thermal;

  /// Sets the kernel by the name in a file. A profile that names none was written by hand.
  void SetKernel(std::string name) {
    provenance = name.empty() ? Provenance::kWritten : Provenance::kMeasured;
    kernel = ParseKernel(std::move(name));
  }

  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

/// Calls visit(compute, fixed) for the times of passes of one input, and then for those of each
/// number of several. `profile` may be const.
template <typename Profile, typename Visit>
void ForEachBatch(Profile& profile, const Visit& visit) {
  visit(profile.compute, profile.fixed);
  for (auto& samples : profile.batches) visit(samples.compute, samples.fixed);
}

/// Medians of a profile that are known to within this share of themselves are taken as they are: a
/// quiet machine reaches it, and plans leave about as much.
inline constexpr double kCertainNoise = 0.05;

/// Returns whether a profile whose medians are known to within `noise`, a share, is too uncertain
/// to be relied on where little time is left.
constexpr bool IsNoisy(double noise) { return noise > kCertainNoise; }

/// Returns whether such a profile leaves open that a plan which is predicted to take `p99_us` meets
/// a target of `target_us`, although it says so. Times in us.
constexpr bool IsUncertain(double noise, double p99_us, double target_us) {
  return IsNoisy(noise) && p99_us * (1 + noise) > target_us;
}

}  // namespace sti
