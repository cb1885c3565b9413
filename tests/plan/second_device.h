// The times of a device, read off its profile anew: slowly, and from spec/profile.md and
// docs/guide/planning.md alone. Figures of plans are held against what is counted with these.
#pragma once

#include <cstdint>
#include <optional>

#include "types/device_profile.h"
#include "types/importance.h"

namespace sti::test {

/// The share of the time for all embedding rows that a run counts on.
struct SecondShare {
  double median = 1;
  double p99 = 1;
};

/// Returns the share of the rows that texts of `tokens` read, where memory for rows is made for
/// `longest` tokens and the first `words` counted words are preloaded.
SecondShare SecondShareOf(const Importance* importance, uint32_t tokens, uint32_t longest,
                          size_t words);

/// The times that one risk counts for texts of one length at one clock.
class SecondDevice {
 public:
  /// `freq` in kHz, 0: the highest. `run_us` is how long a run is, for its share of series.
  SecondDevice(const DeviceProfile& profile, uint32_t tokens, uint64_t freq, Risk risk,
               double run_us, SecondShare share);

  /// T_comp of one layer of `width` slices at 6 bits, or T_last.
  [[nodiscard]] double LayerUs(uint32_t width, bool last) const;
  /// The time that a slice of `bits` takes more than one of 6.
  [[nodiscard]] double ExtraUs(uint32_t bits) const;
  /// T_io of one read of `bytes` that brings a shard at `bits`.
  [[nodiscard]] double LoadUs(uint32_t bits, uint64_t bytes) const;
  /// T_io of the planes that a shard at `held` bits lacks for `bits`, which are `bytes`.
  [[nodiscard]] double LoadMissingUs(uint32_t held, uint32_t bits, uint64_t bytes) const;
  [[nodiscard]] double EmbedUs() const;
  [[nodiscard]] double HeadUs() const;
  /// Reading the embedding rows that are not in memory.
  [[nodiscard]] double RowsUs() const;

 private:
  [[nodiscard]] double OfLane(const std::vector<SeriesSample>& series, double median_us,
                              double p99_us) const;
  [[nodiscard]] FixedSample Fixed() const;
  [[nodiscard]] std::optional<double> LoadByBits(uint32_t bits) const;
  [[nodiscard]] double LoadByBytes(uint64_t bytes, bool median) const;

  const DeviceProfile& profile_;
  uint32_t tokens_;
  uint32_t layers_length_;
  uint64_t freq_;
  Risk risk_;
  double run_us_;
  SecondShare share_;
};

}  // namespace sti::test
