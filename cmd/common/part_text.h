// Parts of an importance, described for people: sti-importance and sti-inspect say the same of one.
#pragma once

#include <string>

#include "types/importance_part.h"

namespace sti {

/// "part 2/8 of an importance: units 11 to 20 of 80, 300 examples, metric loss"
std::string DescribeImportancePart(const ImportancePart& part);

/// Describes a part and what it belongs to, for a terminal of 80 columns.
std::string ImportancePartText(const ImportancePart& part);

}  // namespace sti
