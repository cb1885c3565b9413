// A cold start loads more than shards (STI has the model resident). This file tells the times of
// the parts that a process reads once, in the order in which it needs them, and the compute lane
// that waits for them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/device_model.h"
#include "plan/lanes.h"
#include "plan/request.h"
#include "types/stage.h"

namespace sti {

/// Holds the times of the parts, in microseconds; all 0 and empty for a process that has the model
/// open.
struct ColdTimes {
  double start_us = 0;      ///< the process's own work before its first read, from the profile
  double open_io_us = 0;    ///< reads of index and vocabulary, after which the tokens are known
  double embedding_us = 0;  ///< read of the embedding's parameters, after the tokens' rows
  /// [layers + 1] reads of the resident part of each layer executed, then of the head's.
  std::vector<double> resident_us = {};
};

/// Returns kUsage if the times of a cold start are not known: sizes of parts, or load times by
/// bytes.
Status CheckColdIsKnown(const CheckedInput& input, const DeviceModel& device);

/// Returns the times of a cold start of `layers`, the original indexes executed. Each part is one
/// read of its bytes; a part of no bytes takes no time. CheckColdIsKnown has passed.
ColdTimes ColdTimesOf(const CheckedInput& input, const DeviceModel& device,
                      std::span<const uint32_t> layers);

/// Says how a submodel is run.
struct RunKind {
  bool cold = false;  ///< from the start of a process
  NetworkEnds ends = {};
  bool keeps_vocabulary = false;  ///< as PlanCore::keeps_vocabulary
};

/// Returns the lane that runs `layers` of `width` slices, a width whose time the device knows. For
/// a cold start, `embed_io_us` of the lane also counts process start, index, vocabulary and
/// embedding parameters, so that the IO budget of every layer begins after them. A stage lacks the
/// times of the ends that it does not run. Words that stay in memory cost a warm run no IO, as
/// embedding rows either.
ComputeLane LaneOf(const CheckedInput& input, const DeviceModel& device,
                   std::span<const uint32_t> layers, uint32_t width, const RunKind& kind);

}  // namespace sti
