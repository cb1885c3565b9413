// Importance files as pictures (STI, Fig. 5): lighter is more important.
#pragma once

#include <span>
#include <string>

#include "pictures/raster.h"
#include "types/importance.h"

namespace sti {

/// One map of a picture; both outlive the call they are given to.
struct HeatMapPanel {
  std::string name;  ///< a word before its heading; may be empty
  const Importance* importance = nullptr;
};

/// The maps side by side, layers downwards, slices to the right. Resting on a shard shows its
/// score. The same bytes for the same panels.
std::string HeatMapSvg(std::span<const HeatMapPanel> panels);

/// Draws these maps as pixels.
Raster HeatMapRaster(std::span<const HeatMapPanel> panels);

}  // namespace sti
