// Numbers as files hold them: a part of a whole, and figures such as losses, scores and bits.
#pragma once

#include "types/limits.h"

namespace sti {

/// Returns whether a number from a file can be a share: 0 to 1, and a number at all.
constexpr bool IsShare(double x) { return x >= 0 && x <= 1; }

/// Returns whether a number from a file can be a figure, which may be negative: finite, and such
/// that sums of figures are finite and can be printed in a line.
constexpr bool IsFigure(double x) { return x >= -kMaxFigure && x <= kMaxFigure; }

/// The problem of a number that is no figure.
inline constexpr const char* kNoFigure = "not a finite number up to 10^15";

}  // namespace sti
