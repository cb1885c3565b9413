// The measured submodels of an importance, as a table for a terminal.
#pragma once

#include <string>

#include "types/importance.h"

namespace sti {

/// A(n, m) of an importance file at the most bits measured, layers downwards and slices to the
/// right, in lines of at most 80 characters; below it the largest submodel by bits. Empty if no
/// submodels were measured.
std::string SubmodelTable(const Importance& importance);

}  // namespace sti
