// A run of two lanes, played event by event (docs/guide/planning.md, "In time: accumulated IO
// budgets", and docs/guide/pipeline.md, "Which read is next"). Shares no code with lib/plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sti::test {

/// One read of the IO lane, for the layer at position `layer`.
struct SecondLoad {
  uint32_t layer = 0;
  uint64_t bytes = 0;
  double load_us = 0;
};

/// Everything that takes time in a run. Reads stand in the order in which they are made.
struct SecondRun {
  double rows_us = 0;   ///< reading them, of a cold start with all that comes before
  double start_us = 0;  ///< a cold start's own work before its text is there
  double open_us = 0;   ///< a cold start's reads before the rows
  double embed_us = 0;
  double head_us = 0;
  std::vector<double> layers_us;
  std::vector<SecondLoad> loads;
  double wake_us = 0;   ///< reads begin so long before the text is there
  bool serial = false;  ///< compute waits for all reads

  /// Bytes of all reads, of the largest one, and of the layer that reads most.
  [[nodiscard]] uint64_t AllBytes() const;
  [[nodiscard]] uint64_t LargestBytes() const;
  [[nodiscard]] uint64_t LargestLayerBytes() const;
  [[nodiscard]] double ComputeUs() const;
};

/// Returns when the label is there, from the text on, with an arena of so many bytes; nothing if
/// the run cannot go on, since the arena does not hold what one layer reads.
std::optional<double> SecondPlay(const SecondRun& run, std::optional<uint64_t> arena_bytes);

/// Returns the least arena with which each of the runs is as fast as with any: of all that a
/// stretch of its reads takes, each is tried.
uint64_t SecondLeastArena(std::span<const SecondRun> runs);

}  // namespace sti::test
