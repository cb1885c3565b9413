// T_comp, T_io and T_fixed as functions: a device profile at one input length and one risk.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "types/device_profile.h"

namespace sti {

/// How a profile is read.
struct ProfileReading {
  uint64_t freq = 0;  ///< kHz: the highest profiled clock not above it counts; 0: the highest
  bool interpolate = false;  ///< a width between two profiled ones is estimated
  uint32_t batch = 1;        ///< inputs of a pass
};

/// T_fixed and its parts, in microseconds; 0 where the profile has none.
struct FixedTimes {
  double embed_us = 0;     ///< compute lane, before layer 0
  double embed_io_us = 0;  ///< IO lane, before the first shard
  double head_us = 0;      ///< compute lane, after the last layer
  /// The part of embed_io_us that does not grow with the rows: waiting for the device, and waking.
  double embed_io_start_us = 0;
  [[nodiscard]] double compute_us() const { return embed_us + head_us; }  ///< T_fixed
};

/// Returns kDamaged naming the first rule that the profile breaks (types/profile_check.h).
Status ValidateProfile(const DeviceProfile& profile);

/// Returns the longest input length with compute samples, in tokens; 0 if there are none.
uint32_t LongestProfiledLength(const DeviceProfile& profile);

/// Looks times up. Immutable, so any number of threads may share one.
class DeviceModel {
 public:
  /// Reads a valid profile. The smallest profiled length that holds `length` tokens counts. Returns
  /// kUsage if none does, or if no profiled clock is as low as `reading` says.
  static Result<DeviceModel> Make(const DeviceProfile& profile, uint32_t length, Risk risk,
                                  const ProfileReading& reading = {});

  /// Returns the profiled length in use, in tokens.
  [[nodiscard]] uint32_t length() const { return length_; }
  [[nodiscard]] const FixedTimes& fixed() const { return fixed_; }

  /// Returns T_comp of one layer of `width` slices, in microseconds. Nothing for a width that was
  /// not profiled, unless it lies between two that were and the reading interpolates.
  [[nodiscard]] std::optional<double> LayerUs(uint32_t width) const;
  /// Returns the time of a submodel's last layer, which takes as long as any other unless the
  /// profile says more.
  [[nodiscard]] std::optional<double> LastLayerUs(uint32_t width) const;
  /// Returns what a slice of `bits` adds to the time of its layer beyond what LayerUs and
  /// LastLayerUs count for a slice, in microseconds; negative: less. 0 where the profile does not
  /// say.
  [[nodiscard]] double DecodeUs(uint32_t bits) const;
  /// Returns the time of a layer of `width` slices whose bits are those that take longest.
  [[nodiscard]] std::optional<double> SlowestLayerUs(uint32_t width) const;
  /// Returns the narrowest profiled width.
  [[nodiscard]] uint32_t narrowest() const { return widths_.front().first; }
  /// Returns whether a measurement wrote the profile, not a person: a width that it lacks was left
  /// out on purpose.
  [[nodiscard]] bool widths_were_chosen() const { return widths_were_chosen_; }

  /// Returns T_io of one shard of `bits` whose read moves `bytes`, in microseconds, never negative.
  /// A sample by bits is taken as written; else the samples by bytes are joined by straight lines,
  /// and the first and last line go on beyond the ends. Nothing if the profile has neither.
  [[nodiscard]] std::optional<double> LoadUs(uint32_t bits, uint64_t bytes) const;
  /// Returns T_io of a part of `bytes` that is no shard; 0 for none, or if the profile has no time
  /// by bytes.
  [[nodiscard]] double PartUs(uint64_t bytes) const;
  /// Returns the bytes a microsecond that `streams` open files bring together, one read in flight
  /// through each; 0 where the profile does not say. On straight lines between the numbers of files
  /// that were measured; beyond the most of them as many bring as those.
  [[nodiscard]] double StreamRateOf(uint32_t streams) const;
  /// Returns whether all T_io is looked up by bytes, none by bits.
  [[nodiscard]] bool LoadsBySize() const { return by_bits_.empty(); }

  /// Returns this device where loading shards takes `io_ratio` times as long, and what is computed
  /// `compute_ratio` times. Embedding rows take `embed_io_us`.
  [[nodiscard]] DeviceModel Slowed(double io_ratio, double compute_ratio, double embed_io_us) const;

  /// Makes last layers take as long as any others, as where all their rows are wanted.
  void ForgetLastLayers() { last_ = widths_; }

 private:
  uint32_t length_ = 0;
  FixedTimes fixed_;
  bool interpolate_ = false;
  bool widths_were_chosen_ = false;
  std::vector<std::pair<uint32_t, double>> widths_;    ///< ascending, unique
  std::vector<std::pair<uint32_t, double>> last_;      ///< the same widths, as the last layer
  std::vector<std::pair<uint32_t, double>> decode_;    ///< ascending, unique
  std::vector<std::pair<uint32_t, double>> by_bits_;   ///< ascending, unique
  std::vector<std::pair<uint64_t, double>> by_bytes_;  ///< ascending, unique
  std::vector<std::pair<uint32_t, double>> streams_;   ///< rates, ascending, unique
};

/// The profile at the median and at the 99th percentile.
///
/// Where the profile has series, the 99th percentile is that of a run of some length: each time is
/// its median times what such a run takes over its own median. It so holds for the run as a whole,
/// in which no item is as slow as its own 99th percentile says. Embedding rows, of which a run has
/// one lot, keep theirs. Without series all are those of items.
struct DeviceModels {
  DeviceModel median;
  DeviceModel p99;
  Risk risk = Risk::kP99;
  /// Reads a valid profile for passes of `batch` inputs of `length` tokens at a clock of `freq`
  /// kHz, 0 for the highest, and for runs of `target_us`; without a target for the shortest series.
  /// Errors are those of DeviceModel::Make.
  static Result<DeviceModels> Make(const DeviceProfile& profile, uint32_t length, uint64_t freq,
                                   const Judging& judging, std::optional<double> target_us,
                                   uint32_t batch = 1);
  /// Does so for the model and the profile of an input. Where the model's head wants all rows of
  /// the last layer, that takes as long as any other.
  static Result<DeviceModels> Make(const CheckedInput& input, uint32_t length, uint64_t freq,
                                   const Judging& judging, std::optional<double> target_us,
                                   uint32_t batch = 1);
  /// Returns the models for runs of `run_us` on the device of `profile`, which these are of.
  [[nodiscard]] DeviceModels ForRunsOf(double run_us, const DeviceProfile& profile) const;
  /// Returns the one that decides feasibility.
  [[nodiscard]] const DeviceModel& deciding() const { return risk == Risk::kP99 ? p99 : median; }
};

/// Returns the profile as the device is now: layers, embeddings and head take `compute_ratio` times
/// as long, loads and embedding rows `io_ratio` times, medians and 99th percentiles alike. Clocks,
/// sizes and `start_us` stay. A ratio that is not a positive finite number counts as 1.
/// Thread-safe.
DeviceProfile DriftedProfile(const DeviceProfile& profile, double compute_ratio, double io_ratio);

}  // namespace sti
