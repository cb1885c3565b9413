// The choice between types of arithmetic by their times here: a CPU may have products in bfloat16
// and be slower with them than in fp32, as servers are whose VDPBF16PS is issued once in two
// cycles.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "io/container_file.h"
#include "types/kernel.h"

namespace sti {

/// Returns the least time of each of `works`, in the unit that they return, [works]: each is called
/// once for warmth and then `rounds` times, all in turns, so that what else the machine does
/// befalls all of them.
std::vector<double> LeastTimes(std::span<const std::function<double()>> works, uint32_t rounds);

/// One type of arithmetic and what the widest layer takes in it.
struct ComputeTime {
  ComputeType type = ComputeType::kFp32;
  double layer_us = 0;
};

/// Times the widest layer at `length` tokens in each of `types`, which this CPU has, on `threads`
/// threads; returns them with the fastest first, the earlier of two that are as fast.
Result<std::vector<ComputeTime>> TimeComputeTypes(ContainerFile file,
                                                  std::span<const ComputeType> types,
                                                  uint32_t length, uint32_t threads);

}  // namespace sti
