#pragma once

#include <string>

#include "base/result.h"
#include "types/importance.h"

namespace sti {

/// "accuracy 93.1 % to 94.0 % over 300 examples, 92.9 % with all shards at their fewest bits"
std::string DescribeImportance(const Importance& importance);

/// Layers downwards, slices to the right (STI, Fig. 5): colours on a terminal, figures elsewhere.
std::string HeatMap(const Importance& importance);

/// The same as a picture; lighter is more important, as in the paper.
Status WriteHeatMapSvg(const std::string& path, const Importance& importance);

}  // namespace sti
