// What a cold start loads beside shards (STI has the model resident): times of the parts that a
// process needs once, in the order of need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/device_model.h"
#include "plan/request.h"
#include "plan/timeline.h"

namespace sti {

/// All 0 and empty for a process that has the model open, in microseconds.
struct ColdTimes {
  double start_us = 0;               ///< the process's own work, from the profile
  double open_io_us = 0;             ///< index and vocabulary: the tokens are known behind them
  double embedding_us = 0;           ///< parameters of the embedding, behind the tokens' rows
  std::vector<double> part_us = {};  ///< as in ComputeLane
};

/// kUsage if a cold start cannot be told: sizes of parts unknown, or no load times by bytes.
Status CheckColdIsKnown(const PlanInput& input, const DeviceModel& device);

/// Times of a cold start of `layers`, the original indexes executed. Each part is one read of its
/// bytes; a part of no bytes takes no time. CheckColdIsKnown has passed.
ColdTimes ColdTimesOf(const PlanInput& input, const DeviceModel& device,
                      std::span<const uint32_t> layers);

/// Returns the lane that runs `layers` of `width` slices, a width whose time the device knows. For
/// a cold start, its `embed_io_us` also counts process start, index, vocabulary and embedding
/// parameters, so that the IO budget of every layer begins after them.
ComputeLane LaneOf(const PlanInput& input, const DeviceModel& device,
                   std::span<const uint32_t> layers, uint32_t width, bool cold);

/// [layers] what the lane's parts take of each layer's budget: 0 of a warm run. The last layer also
/// pays for the head's part as far as that takes longer than the layer's compute, which hides it.
std::vector<double> PartIo(const ComputeLane& lane);

}  // namespace sti
