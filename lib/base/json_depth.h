// How deep JSON may nest. Parsers, copies and printers of JSON tend to recurse once a level, so a
// file of brackets could use up the stack; ours is looked at before it is parsed.
#pragma once

#include <string_view>

namespace sti {

/// What we read and write nests at most 6 levels; what others write in the files that we read, a
/// few more.
inline constexpr int kMaxJsonDepth = 64;

/// True if brackets outside of strings nest deeper than kMaxJsonDepth. `text` may be anything.
bool JsonIsTooDeep(std::string_view text);

}  // namespace sti
