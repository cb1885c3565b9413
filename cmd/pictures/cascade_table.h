// The measured cascades of an importance, as a table for a terminal.
#pragma once

#include <string>

#include "types/importance.h"

namespace sti {

/// The cascade levels of an importance file, and for each cascade of them the cut that computes
/// fewest shards a text among those which lose at most half a point of the last level's accuracy;
/// in lines of at most 80 characters. Empty if no cascades were measured.
std::string CascadeTable(const Importance& importance);

}  // namespace sti
