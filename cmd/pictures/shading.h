// The shade of each shard in a heat map, from 0 for the least important to 1 for the most.
#pragma once

#include <cstdint>
#include <string>

#include "pictures/raster.h"
#include "types/importance.h"

namespace sti {

class Shading {
 public:
  /// `importance` outlives this.
  explicit Shading(const Importance& importance);

  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  [[nodiscard]] double Of(uint32_t layer, uint32_t slice) const;
  /// Means over a row and over a column.
  [[nodiscard]] double OfLayer(uint32_t layer) const;
  [[nodiscard]] double OfSlice(uint32_t slice) const;

 private:
  const Importance& importance_;
  double low_;
  double high_;
};

/// Dark blue to light yellow, ever lighter: readable in print and for the colour-blind.
Rgb ColourOf(double share);

/// The colours that stdout shows: colours only on a terminal that has them, and never against
/// NO_COLOR.
enum class TerminalColours { kNone, k256, kTrue };
TerminalColours ColoursOfStdout();

/// `text` on the colour of `share`, in black or white, whichever is easier to read.
std::string Shaded(const std::string& text, double share, TerminalColours colours);

}  // namespace sti
