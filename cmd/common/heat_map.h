#pragma once

#include <string>

#include "base/result.h"
#include "types/importance.h"

namespace sti {

/// "300 examples: accuracy 93.1 % to 94.0 % with a shard raised, 92.9 % without"
std::string DescribeImportance(const Importance& importance);

/// Layers downwards, slices to the right (STI, Fig. 5): colours on a terminal, figures elsewhere.
/// Below it the table of submodels, if they were measured.
std::string HeatMap(const Importance& importance);

/// The same as a picture; lighter is more important, as in the paper.
Status WriteHeatMapSvg(const std::string& path, const Importance& importance);

}  // namespace sti
