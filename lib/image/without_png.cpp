// Stands in for png.cpp where there is no libpng.
#include "image/pixels.h"

namespace sti {

bool IsPng(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n\x1a\n"); }

Result<std::vector<uint8_t>> ReadPng(std::string_view /*bytes*/, const ImageShape& shape) {
  return ForeignError("a PNG, which this build does not read; give a PPM, or [" +
                      std::to_string(shape.channels) + ", " + std::to_string(shape.size) + ", " +
                      std::to_string(shape.size) + "] numbers");
}

}  // namespace sti
