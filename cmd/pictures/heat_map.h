// An importance file as text for a terminal or a pipe (STI, Fig. 5).
#pragma once

#include <string>

#include "types/importance.h"

namespace sti {

/// Layers downwards, slices to the right, figures from 0 to 99, means at the sides; on a terminal
/// in colours, lighter is more important, as in the paper. Above it what was measured and how noisy
/// it is, below it the table of submodels, if they were measured. Lines of at most 80 characters.
std::string HeatMap(const Importance& importance);

/// Two of one shape side by side where 80 characters allow it, otherwise one above the other, and
/// how far their ranks agree. The names are those of the files.
std::string HeatMapPair(const Importance& a, const std::string& name_a, const Importance& b,
                        const std::string& name_b);

}  // namespace sti
