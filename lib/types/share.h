// A part of a whole, as files hold it.
#pragma once

namespace sti {

/// Returns whether a number from a file can be a share: 0 to 1, and a number at all.
constexpr bool IsShare(double x) { return x >= 0 && x <= 1; }

}  // namespace sti
