// A mistyped word is compared with those that it was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sti {

/// Returns how many slips of a finger lie between two words: a letter missing, one too many,
/// another one, or two neighbours swapped.
size_t SlipsBetween(std::string_view a, std::string_view b);

/// Returns the first of those `words` that the fewest slips made `typed` of, if these are at most
/// a third of its letters; empty if there is none.
std::string NearestWord(std::string_view typed, const std::vector<std::string>& words);

}  // namespace sti
