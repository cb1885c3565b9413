// A grid of targets and preload buffers as a picture.
#pragma once

#include <string>

#include "plan/sweep.h"

namespace sti {

/// Returns quality over latency, a line for each preload buffer. Requires one plan at least.
std::string SweepSvg(const SweepGrid& grid);

}  // namespace sti
