#include "pictures/heat_map_picture.h"

#include <algorithm>
#include <vector>

#include "pictures/importance_text.h"
#include "pictures/shading.h"
#include "pictures/svg.h"
#include "types/shard_id.h"

namespace sti {
namespace {

// All in pixels.
constexpr int kCellsLeft = 64;  // of the first cell, for the numbers of layers
constexpr int kCellsTop = 44;   // for the heading
constexpr int kBelow = 48;      // for the numbers of slices
constexpr int kGapAfterMap = 20;

constexpr size_t kHeading = 80;  // most characters: no text of a file makes a picture large

// A large map has smaller cells: it should fit a screen, and even the largest file memory.
int CellOf(const Importance& importance) {
  const uint32_t longer = std::max(importance.layers, importance.width);
  if (longer <= 24) return 36;
  return longer <= 64 ? 20 : 8;
}

std::string Heading(const HeatMapPanel& panel) {
  const Importance& importance = *panel.importance;
  const Shading shading(importance);
  std::string text = (panel.name.empty() ? "" : panel.name + ": ") + NameOf(importance.metric) +
                     " " + ScoreText(importance, shading.low()) + " to " +
                     ScoreText(importance, shading.high()) +
                     (importance.estimate.empty() ? "" : ", " + importance.estimate);
  if (text.size() > kHeading) text = text.substr(0, kHeading - 3) + "...";
  return text;
}

// Where one panel stands.
struct Place {
  int x = 0;  // of the first cell
  int cell = 0;
  int end_x = 0;  // of the panel

  [[nodiscard]] int CellX(uint32_t slice) const { return x + cell * static_cast<int>(slice); }
  [[nodiscard]] int CellY(uint32_t layer) const {
    return kCellsTop + cell * static_cast<int>(layer);
  }
};

// Beside each other, each as wide as its cells or its heading.
std::vector<Place> PlacesOf(std::span<const HeatMapPanel> panels, int glyph_width) {
  std::vector<Place> places;
  places.reserve(panels.size());
  int x = 0;
  for (const HeatMapPanel& panel : panels) {
    Place place{x + kCellsLeft, CellOf(*panel.importance), 0};
    const int heading = static_cast<int>(Heading(panel).size()) * glyph_width;
    place.end_x = place.x + kGapAfterMap +
                  std::max(heading, place.cell * static_cast<int>(panel.importance->width));
    x = place.end_x;
    places.push_back(place);
  }
  return places;
}

int HeightOf(std::span<const HeatMapPanel> panels) {
  int height = 0;
  for (const HeatMapPanel& panel : panels) {
    height =
        std::max(height, CellOf(*panel.importance) * static_cast<int>(panel.importance->layers));
  }
  return kCellsTop + height + kBelow;
}

// Every how many slices or layers a number fits.
uint32_t Stride(int cell, int number_width) {
  return static_cast<uint32_t>((number_width + cell - 1) / cell);
}

std::string FillOf(double share) {
  const Rgb c = ColourOf(share);
  return "rgb(" + std::to_string(c.red) + "," + std::to_string(c.green) + "," +
         std::to_string(c.blue) + ")";
}

void DrawCells(const Importance& importance, const Place& place, Svg* svg) {
  const Shading shading(importance);
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    for (uint32_t slice = 0; slice < importance.width; ++slice) {
      const double score = importance.scores[size_t{layer} * importance.width + slice];
      const auto side = static_cast<double>(place.cell - 1);
      svg->Rect({static_cast<double>(place.CellX(slice)), static_cast<double>(place.CellY(layer)),
                 side, side},
                FillOf(shading.Of(layer, slice)),
                NameOf(ShardId{layer, slice}) + ": " + ScoreText(importance, score));
    }
  }
}

void DrawPanel(const HeatMapPanel& panel, const Place& place, Svg* svg) {
  const Importance& importance = *panel.importance;
  const int half = place.cell / 2;
  svg->Text(place.x, 24, Heading(panel), " font-size=\"13\"");
  DrawCells(importance, place, svg);
  for (uint32_t layer = 0; layer < importance.layers; layer += Stride(place.cell, 14)) {
    svg->Text(place.x - 8, place.CellY(layer) + half + 4, std::to_string(layer),
              " text-anchor=\"end\"");
  }
  const int below = place.CellY(importance.layers);
  for (uint32_t slice = 0; slice < importance.width; slice += Stride(place.cell, 22)) {
    svg->Text(place.CellX(slice) + half, below + 16, std::to_string(slice),
              " text-anchor=\"middle\"");
  }
  svg->Text(place.x, below + 36, "vertical slice, lighter is more important");
  const std::string x = std::to_string(place.x - 48);
  const int middle = (kCellsTop + below) / 2;
  svg->Text(
      place.x - 48, middle, "layer",
      " transform=\"rotate(-90 " + x + " " + std::to_string(middle) + ")\" text-anchor=\"middle\"");
}

constexpr int kScale = 2;  // of the figures of a raster

void DrawPanel(const HeatMapPanel& panel, const Place& place, Raster* raster) {
  const Importance& importance = *panel.importance;
  const Shading shading(importance);
  raster->Text(place.x, 16, Heading(panel), kScale);
  for (uint32_t layer = 0; layer < importance.layers; layer += Stride(place.cell, 16)) {
    const std::string number = std::to_string(layer);
    const int lower = (place.cell - Raster::kGlyphHeight * kScale) / 2;
    raster->Text(place.x - 8 - Raster::TextWidth(number, kScale), place.CellY(layer) + lower,
                 number, kScale);
  }
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    for (uint32_t slice = 0; slice < importance.width; ++slice) {
      raster->Rect(place.CellX(slice), place.CellY(layer), place.cell - 1, place.cell - 1,
                   ColourOf(shading.Of(layer, slice)));
    }
  }
  const int widest = Raster::TextWidth(std::to_string(importance.width - 1), kScale) + 4;
  for (uint32_t slice = 0; slice < importance.width; slice += Stride(place.cell, widest)) {
    const std::string number = std::to_string(slice);
    const int inset = (place.cell - Raster::TextWidth(number, kScale)) / 2;
    raster->Text(place.CellX(slice) + inset, place.CellY(importance.layers) + 10, number, kScale);
  }
}

}  // namespace

std::string HeatMapSvg(std::span<const HeatMapPanel> panels) {
  const std::vector<Place> places = PlacesOf(panels, 8);
  Svg svg(places.back().end_x, HeightOf(panels));
  for (size_t i = 0; i < panels.size(); ++i) DrawPanel(panels[i], places[i], &svg);
  return svg.Finish();
}

Raster HeatMapRaster(std::span<const HeatMapPanel> panels) {
  const std::vector<Place> places = PlacesOf(panels, Raster::kGlyphWidth * kScale);
  Raster raster(places.back().end_x, HeightOf(panels));
  for (size_t i = 0; i < panels.size(); ++i) DrawPanel(panels[i], places[i], &raster);
  return raster;
}

}  // namespace sti
