// A grid of targets and preload buffers, as a table and as JSON.
#pragma once

#include <string>

#include "plan/sweep.h"

namespace sti {

/// At most 80 columns; a star at each plan of the front.
std::string SweepText(const SweepGrid& grid);

/// One object: what quality means, and a row a cell.
std::string SweepJson(const SweepGrid& grid);

}  // namespace sti
