// Checks of JSON before it is parsed. Parsers, copies and printers of JSON tend to
// recurse once a level, so a file of brackets could use up the stack. And the parser that is used
// here takes a NUL byte for the end of the text, whatever stands behind it.
#pragma once

#include <string_view>

namespace sti {

/// The deepest nesting that is accepted. The formats of this project nest at most 6 levels, files
/// that other programs write a few more.
inline constexpr int kMaxJsonDepth = 64;

/// Returns whether brackets outside of strings nest deeper than kMaxJsonDepth. `text` may be any
/// bytes.
bool JsonIsTooDeep(std::string_view text);

/// Returns whether a byte of `text` is NUL, which JSON has nowhere: in a string it is spelled
/// \u0000.
bool HasNulByte(std::string_view text);

}  // namespace sti
