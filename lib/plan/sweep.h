// A sweep shows what other targets and preload buffers would give: it plans over a grid of both,
// and finds the *front*, the plans that nobody should prefer another to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// The measure in which the plans of a sweep are compared: the first that all of them have.
enum class SweepQuality : uint8_t {
  kAccuracy,   ///< predicted accuracy, 0 to 1
  kF1,         ///< predicted F1 of spans, 0 to 1
  kAgreement,  ///< predicted agreement with the full model, 0 to 1
  kCosine,     ///< predicted cosine with the full model's embeddings, -1 to 1
  kSpearman,   ///< predicted correlation of cosines with scores, -1 to 1
  kShardBits,  ///< shards x mean bits
};

/// Holds the plan for one target with one preload buffer.
struct SweepCell {
  double target_us = 0;
  uint64_t preload_bytes = 0;
  std::optional<Plan> plan;      ///< nothing where no plan meets the target
  std::optional<Error> problem;  ///< why there is no plan, with what it would take
  double mean_bits = 0;          ///< mean over the plan's shards
  double quality = 0;            ///< in the grid's measure
  /// Whether no other plan is at least as good in quality (but for 0.05 %), median latency and peak
  /// memory, and better in one of them.
  bool on_front = false;
};

/// Holds all cells of a sweep.
struct SweepGrid {
  SweepQuality quality = SweepQuality::kShardBits;
  std::vector<SweepCell> cells;  ///< by target, then preload, both ascending
  bool embeds = false;  ///< whether the model does, so that other qualities can be measured
};

/// Holds the plan for one bound of memory.
struct MemoryCell {
  uint64_t memory_bytes = 0;
  std::optional<Plan> plan;      ///< nothing where none fits
  std::optional<Error> problem;  ///< why there is no plan, with what it would take
};

/// Returns eight targets, evenly spaced by ratio, from the least that any plan meets to where the
/// whole model is in time at its most bits; rounded up to two digits. In microseconds.
Result<std::vector<double>> SweepTargets(const PlanInput& input, const PlanRequest& request);

/// Returns 0, and about 1/32, 1/8 and 1/2 of all shards at 6 bits, as powers of two. In bytes.
std::vector<uint64_t> SweepPreloads(const ShardCatalog& catalog);

/// Plans each cell as MakePlan does, without turns, further lengths and a least accuracy. kUsage if
/// a list is empty or has more than 64 entries; an infeasible cell is a result, any other error
/// ends it. Thread-safe.
Result<SweepGrid> SweepPlans(const PlanInput& input, const PlanRequest& request,
                             std::span<const double> targets_us,
                             std::span<const uint64_t> preloads);

/// Plans each bound of memory as MakePlan does, by the strategy kPipeload: the schedule of Hermes,
/// which has as many agents for each as are fastest. Errors are those of SweepPlans. Thread-safe.
Result<std::vector<MemoryCell>> SweepMemories(const PlanInput& input, const PlanRequest& request,
                                              std::span<const uint64_t> memories);

}  // namespace sti
