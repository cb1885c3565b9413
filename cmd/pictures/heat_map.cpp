#include "pictures/heat_map.h"

#include <algorithm>
#include <cstdint>

#include "pictures/cascade_table.h"
#include "pictures/importance_text.h"
#include "pictures/shading.h"
#include "pictures/submodel_table.h"

namespace sti {
namespace {

constexpr size_t kLineWidth = 80;
constexpr uint32_t kBlock = 16;  // slices beside each other

std::string Right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string Figure(double share) { return std::to_string(static_cast<int>(share * 99)); }

void EndLine(std::string* text) {
  while (text->back() == ' ') text->pop_back();
  *text += '\n';
}

// The cells of one layer, each `cell` characters wide.
std::string Cells(const Shading& shading, uint32_t layer, uint32_t first, uint32_t end, size_t cell,
                  TerminalColours colours) {
  std::string text;
  for (uint32_t slice = first; slice < end; ++slice) {
    const double share = shading.Of(layer, slice);
    std::string figure = Right(Figure(share), 3);
    figure.resize(cell, ' ');
    text += Shaded(figure, share, colours);
  }
  return text;
}

// One block of slices with its means; the means of layers stand beside the last.
std::string Block(const Importance& importance, const Shading& shading, uint32_t first,
                  uint32_t end, TerminalColours colours) {
  constexpr size_t kCell = 4;
  const bool last = end == importance.width;
  std::string text = "       ";
  for (uint32_t slice = first; slice < end; ++slice) text += Right(std::to_string(slice), 3) + " ";
  if (last) text += " mean";
  EndLine(&text);
  for (uint32_t layer = 0; layer < importance.layers; ++layer) {
    text += Right(std::to_string(layer), 5) + "  ";
    text += Cells(shading, layer, first, end, kCell, colours);
    if (last) text += Right(Figure(shading.OfLayer(layer)), 5);
    EndLine(&text);
  }
  text += " mean  ";
  for (uint32_t slice = first; slice < end; ++slice) {
    text += Right(Figure(shading.OfSlice(slice)), 3) + " ";
  }
  EndLine(&text);
  return text;
}

std::string Legend(const Importance& importance, TerminalColours colours) {
  return "layer  slices 0.." + std::to_string(importance.width - 1) +
         ", 0 least to 99 most important" +
         (colours == TerminalColours::kNone ? "" : ", lighter is more") + "\n";
}

std::string Map(const Importance& importance, TerminalColours colours) {
  const Shading shading(importance);
  std::string text = Legend(importance, colours);
  for (uint32_t first = 0; first < importance.width; first += kBlock) {
    const uint32_t end = std::min(first + kBlock, importance.width);
    text += Block(importance, shading, first, end, colours);
  }
  return text;
}

constexpr size_t kPairMargin = 5;  // the number of a layer
constexpr size_t kPairCell = 3;
constexpr size_t kPairGap = 2;

std::string SideBySide(const Importance& a, const Importance& b, TerminalColours colours) {
  const Shading shading_a(a);
  const Shading shading_b(b);
  const size_t map = a.width * kPairCell;
  std::string text = Legend(a, colours) + std::string(kPairMargin + 2, ' ') + "A";
  text += std::string(map + kPairGap - 1, ' ') + "B\n";
  for (uint32_t layer = 0; layer < a.layers; ++layer) {
    text += Right(std::to_string(layer), kPairMargin - 1) + " ";
    text += Cells(shading_a, layer, 0, a.width, kPairCell, colours);
    text += std::string(kPairGap, ' ');
    text += Cells(shading_b, layer, 0, b.width, kPairCell, colours) + "\n";
  }
  return text;
}

std::string Heading(char letter, const Importance& importance, const std::string& name) {
  return std::string(1, letter) + ": " + name + "\n" + DescribeImportance(importance) + "\n" +
         DescribeNoise(importance);
}

}  // namespace

std::string HeatMap(const Importance& importance) {
  return DescribeImportance(importance) + "\n" + DescribeNoise(importance) + "\n" +
         Map(importance, ColoursOfStdout()) + SubmodelTable(importance) + CascadeTable(importance);
}

std::string HeatMapPair(const Importance& a, const std::string& name_a, const Importance& b,
                        const std::string& name_b) {
  const TerminalColours colours = ColoursOfStdout();
  const std::string heading_a = Heading('A', a, name_a) + "\n";
  const std::string heading_b = Heading('B', b, name_b) + "\n";
  const std::string agreement = DescribeAgreement(Agreement(a, b)) + "\n";
  if (kPairMargin + 2 * a.width * kPairCell + kPairGap <= kLineWidth) {
    return heading_a + heading_b + SideBySide(a, b, colours) + "\n" + agreement;
  }
  return heading_a + Map(a, colours) + "\n" + heading_b + Map(b, colours) + "\n" + agreement;
}

}  // namespace sti
