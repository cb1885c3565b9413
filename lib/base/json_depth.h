// A limit on how deep JSON may nest. Parsers, copies and printers of JSON tend to recurse once a
// level, so a file of brackets could use up the stack. Text is therefore checked before it is
// parsed.
#pragma once

#include <string_view>

namespace sti {

/// The deepest nesting that is accepted. The formats of this project nest at most 6 levels, files
/// that other programs write a few more.
inline constexpr int kMaxJsonDepth = 64;

/// Returns whether brackets outside of strings nest deeper than kMaxJsonDepth. `text` may be any
/// bytes.
bool JsonIsTooDeep(std::string_view text);

}  // namespace sti
