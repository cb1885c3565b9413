// A grid of targets and preload buffers, as a table and as JSON.
#pragma once

#include <string>

#include "plan/front.h"

namespace sti {

/// At most 80 columns; a star at each plan of the front.
std::string SweepText(const FrontGrid& grid);

/// One object: what quality means, and a row a cell.
std::string SweepJson(const FrontGrid& grid);

}  // namespace sti
