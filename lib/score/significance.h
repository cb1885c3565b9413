// How far counts of right answers can be trusted: an interval around a share, and whether two
// models that answered the same examples differ by more than chance.
#pragma once

#include <cstdint>

namespace sti {

/// Bounds of a share, both within [0, 1].
struct ShareInterval {
  double low = 0;
  double high = 1;
};

/// Returns the interval that holds the share behind `right` of `examples` with 95 % confidence
/// (Wilson's score interval, without correction for continuity). Without examples it is [0, 1].
ShareInterval WilsonInterval(uint64_t right, uint64_t examples);

/// Returns how probable it is that two models, equally good, differ at least as much as these do:
/// one alone was right on `gained` examples, the other alone on `lost` (McNemar's exact test, two-
/// sided). 1 if neither ever was.
double McNemarExact(uint64_t gained, uint64_t lost);

}  // namespace sti
