// A small picture of coloured rectangles and figures, and its bytes as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sti {

struct Rgb {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;
};

/// Pixels on white; what lies outside is not drawn. One thread at a time.
class Raster {
 public:
  static constexpr int kGlyphWidth = 6;  ///< pixels at scale 1, the gap included
  static constexpr int kGlyphHeight = 7;

  Raster(int width, int height);

  void Rect(int x, int y, int width, int height, Rgb colour);
  /// (x, y) is the top left corner. Digits, small letters and . , : % - + have a glyph, large
  /// letters are written small; all else is blank.
  void Text(int x, int y, std::string_view text, int scale);
  [[nodiscard]] static int TextWidth(std::string_view text, int scale) {
    return static_cast<int>(text.size()) * kGlyphWidth * scale;
  }

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  /// [height, width, 3] red, green, blue.
  [[nodiscard]] const std::vector<uint8_t>& pixels() const { return pixels_; }

 private:
  int width_;
  int height_;
  std::vector<uint8_t> pixels_;
};

/// The PNG of a picture, the same bytes every time: it holds no time and no name of a program.
Result<std::vector<uint8_t>> EncodePng(const Raster& picture);

/// To a file, whole or not at all, or to stdout for "-".
Status WritePng(const std::string& path, const Raster& picture);

}  // namespace sti
