#pragma once

#include <string>

#include "types/plan.h"

namespace sti {

/// A plan for a terminal of 80 columns: what runs, at which bits, and what is predicted.
std::string DescribePlan(const Plan& plan);

}  // namespace sti
