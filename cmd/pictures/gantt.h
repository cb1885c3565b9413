// The two lanes of a plan over time, for a terminal and as a picture.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/timeline.h"
#include "types/plan.h"

namespace sti {

/// The range that the axis covers, in microseconds: from the first read to the label, and to T
/// unless that is so far off that nothing else could be seen.
struct GanttRange {
  double start_us = 0;
  double end_us = 0;
  std::optional<double> target_us;  ///< T where it is inside
};
GanttRange RangeOf(const Plan& plan, const PlanTimeline& timeline);

/// Returns the plan whose preload the buffer holds when the text comes: with a cascade its first
/// level.
const PlanCore& HoldingPlan(const Plan& plan);

/// Returns the layers that the plan runs, those of its cascade's levels with them, ascending.
std::vector<uint32_t> LayersOf(const Plan& plan);

/// "by medians: 11.8 ms of 12.0 ms; compute waits 1.2 ms for IO"
std::string GanttSummary(const Plan& plan, const PlanTimeline& timeline);

/// At most 80 columns; box characters if `unicode`.
std::string GanttText(const Plan& plan, const PlanTimeline& timeline, bool unicode);

/// A picture 800 wide. `preload_bytes` is S, where it is known.
std::string GanttSvg(const Plan& plan, const PlanTimeline& timeline,
                     std::optional<uint64_t> preload_bytes);

/// True if `stream` is a terminal whose locale says UTF-8.
bool ShowsUnicode(FILE* stream);

}  // namespace sti
