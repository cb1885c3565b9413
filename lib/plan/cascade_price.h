// Prices a plan's cascade: what inputs take that go through its levels, what each level reads, and
// the memory of it all. A cascade level finds in memory what the preload buffer holds and what the
// levels before it have read, so it pays for the planes that are missing alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/device_model.h"
#include "plan/planned_run.h"
#include "plan/request.h"
#include "types/plan.h"

namespace sti {

/// Holds the figures of one level's own run, from where it begins. What levels before it have read
/// is in memory.
struct CascadeLevelFigures {
  double latency_us = 0;  ///< by medians
  double p99_us = 0;
  std::vector<double> aib_us;  ///< [n] left over, with slack 0 where there is no target
  PlanTimes times;
};

/// Holds the figures of a cascade of L levels, the plan itself being the last.
struct CascadeFigures {
  /// [L] microseconds from the text to the label of an input that this level answers, by medians.
  std::vector<double> path_us;
  double mean_us = 0;        ///< mean of `path_us`, by the plan's return shares
  double worst_path_us = 0;  ///< 99th percentile of an input that goes through all levels
  std::vector<uint64_t> upgrade_bytes;      ///< [L - 1] bytes that the level behind this one reads
  std::vector<CascadeLevelFigures> levels;  ///< [L - 1] before the plan itself
  double deciding_us = 0;                   ///< through all levels, by the risk that decides
  /// Bytes of staging of the last level, which finds in memory what the others have read: those of
  /// a plan that says them, else enough to delay nothing, or what the memory leaves.
  uint64_t staging_bytes = 0;
  uint64_t peak_bytes = 0;  ///< bytes of the whole process
  bool fits_memory = true;
  std::string problem;  ///< why the cascade misses target or memory; empty: it does not
};

/// Returns the runs of an input that goes through all levels of the plan's cascade, the plan itself
/// being the last: each finds in memory what the buffer holds and what those before it have read.
std::vector<PlannedRun> RunsOfLevels(const CheckedInput& input, const DeviceModel& device,
                                     const Plan& plan);

/// Returns the bytes that the last level of the plan's cascade reads for the layer that reads most:
/// with less staging it cannot run.
uint64_t LargestLayerBytes(const CheckedInput& input, const DeviceModel& device, const Plan& plan);

/// Returns the figures of the plan's cascade, which it has. Each level computes as many tokens as
/// the plan is for, pruned or not, and the embedding rows of later levels are in memory. What all
/// levels but the last read stays in memory until the label is there. The plan has no fault within
/// the model, the device knows its times, and the models are for its length, clock and target.
CascadeFigures PriceCascade(const CheckedInput& input, const Judging& judging,
                            const DeviceModels& devices, const Plan& plan);

/// Writes the figures into the plan and its cascade.
void FillCascade(const CascadeFigures& figures, Plan* plan);

}  // namespace sti
