// The parts of a second opinion (second_opinion.h): notes of figures that differ, shards in memory,
// and the figures of one run of a submodel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/planner.h"
#include "second_device.h"
#include "second_play.h"

namespace sti::test {

/// Two sums of the same times in other orders differ by less than this; where a budget is nearer
/// to 0 than a nanosecond, a plan says 0.
inline constexpr double kSameTime_us = 2e-3;

/// Notes figures that differ, by name.
class SecondNotes {
 public:
  /// Whole numbers are equal.
  void Bytes(const std::string& name, uint64_t got, uint64_t wanted);
  void Time(const std::string& name, double got, double wanted);
  void Times(const std::string& name, std::span<const double> got, std::span<const double> wanted);
  void Shards(const std::string& name, const std::vector<ShardAtBits>& got,
              const std::vector<ShardAtBits>& wanted);
  void That(const std::string& name, bool holds);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

/// Shards in memory: of each its planes, the values at full fidelity, or both.
class SecondHeld {
 public:
  void Put(const ShardAtBits& shard);
  void Put(std::span<const ShardAtBits> shards);
  /// Bits of the shard that are of use for `wanted` bits, which planes and full fidelity do not
  /// share; 0: none.
  [[nodiscard]] uint32_t BitsOf(ShardId id, uint32_t wanted) const;
  [[nodiscard]] bool Has(ShardId id) const { return there_.contains(id); }

 private:
  struct There {
    uint32_t planes = 0;
    bool full = false;
  };
  std::map<ShardId, There> there_;
};

/// Bytes of shards at their bits, one by one.
uint64_t SecondBytes(const ShardCatalog& catalog, std::span<const ShardAtBits> shards);

/// Bytes that a run at `bits` reads of a shard of which `held` bits are in memory: all of it, or
/// the planes that are missing and one block more.
uint64_t SecondMissing(const ShardCatalog& catalog, ShardId id, uint32_t held, uint32_t bits);

/// One submodel at some bits, and what it finds in memory: all that figures of a run hang on.
struct SecondPass {
  const PlanCore* plan = nullptr;        ///< layers, width, slices, length, clock
  const Grid<uint32_t>* bits = nullptr;  ///< of the plan, or of a turn
  SecondHeld held;
  double wake_us = 0;
  bool reads_rows = true;  ///< a cascade level behind the first has them
  SecondShare share;       ///< of the rows' time
};

/// The figures of one pass, for a target.
struct SecondTimes {
  std::vector<double> aib_us;
  std::vector<double> streamed_aib_us;  ///< with what is in memory left out on both sides
  double slack_us = 0;
  PlanTimes times;
  SecondRun median;
  SecondRun p99;
  uint64_t read_bytes = 0;
};

/// Returns the figures of a pass; `run_us` is how long it is for what series say.
SecondTimes SecondTimesOf(const PlanInput& input, const PlanRequest& request,
                          const SecondPass& pass, std::optional<double> target_us);

/// Returns the shards of a pass in layer order, at its bits.
std::vector<ShardAtBits> SecondShardsOf(const SecondPass& pass);

/// Returns what a ring of real memory takes beyond the play: reads in flight, or the largest shard.
uint64_t SecondLostBytes(const DeviceProfile& profile, const SecondRun& run);

/// Returns the bytes of a process before shards, for inputs and layers so large.
uint64_t SecondBeforeShards(const PlanInput& input, uint32_t tokens, uint32_t width);

}  // namespace sti::test
