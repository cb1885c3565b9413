#include "pictures/raster.h"

#include <png.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "base/atomic_file.h"

namespace sti {
namespace {

constexpr int kGlyphColumns = 5;

struct Glyph {
  char character;
  uint64_t pixels;  // seven rows of five, the topmost row in the highest bits, left before right
};

constexpr Glyph kFont[] = {
    {'0', 0x3a33ae62e}, {'1', 0x11842108e}, {'2', 0x3a211111f}, {'3', 0x3a213062e},
    {'4', 0x08ca97c42}, {'5', 0x7e1e0862e}, {'6', 0x3a10f462e}, {'7', 0x7c2211084},
    {'8', 0x3a317462e}, {'9', 0x3a317842e}, {'a', 0x000e0be2f}, {'b', 0x421e8c63e},
    {'c', 0x000f8420f}, {'d', 0x042f8c62f}, {'e', 0x000e8fe0e}, {'f', 0x191e42108},
    {'g', 0x01f18bc2e}, {'h', 0x421e8c631}, {'i', 0x100c2108e}, {'j', 0x080610a4c},
    {'k', 0x4212a6292}, {'l', 0x30842108e}, {'m', 0x001aad6b5}, {'n', 0x001e8c631},
    {'o', 0x000e8c62e}, {'p', 0x001e8fa10}, {'q', 0x01f18bc21}, {'r', 0x0016cc210},
    {'s', 0x000f8383e}, {'t', 0x211e42106}, {'u', 0x00118c62f}, {'v', 0x00118c544},
    {'w', 0x0011ad6aa}, {'x', 0x001151151}, {'y', 0x02318bc2e}, {'z', 0x001f1111f},
    {'.', 0x00000018c}, {',', 0x000003088}, {':', 0x018c03180}, {'%', 0x632222263},
    {'-', 0x0000f8000}, {'+', 0x0084f9080},
};

uint64_t PixelsOf(char character) {
  if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
  const auto* found = std::find_if(std::begin(kFont), std::end(kFont),
                                   [&](const Glyph& g) { return g.character == character; });
  return found == std::end(kFont) ? 0 : found->pixels;
}

}  // namespace

Raster::Raster(int width, int height)
    : width_(width),
      height_(height),
      pixels_(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, 255) {}

void Raster::Rect(int x, int y, int width, int height, Rgb colour) {
  for (int row = std::max(y, 0); row < std::min(y + height, height_); ++row) {
    for (int column = std::max(x, 0); column < std::min(x + width, width_); ++column) {
      uint8_t* pixel = &pixels_[(static_cast<size_t>(row) * width_ + column) * 3];
      pixel[0] = colour.red;
      pixel[1] = colour.green;
      pixel[2] = colour.blue;
    }
  }
}

void Raster::Text(int x, int y, std::string_view text, int scale) {
  for (const char character : text) {
    const uint64_t pixels = PixelsOf(character);
    for (int at = 0; at < kGlyphHeight * kGlyphColumns; ++at) {
      const int bit = kGlyphHeight * kGlyphColumns - 1 - at;
      if (((pixels >> bit) & 1) == 0) continue;
      Rect(x + at % kGlyphColumns * scale, y + at / kGlyphColumns * scale, scale, scale, {});
    }
    x += kGlyphWidth * scale;
  }
}

namespace {

Error Failed(const png_image& image) {
  return MachineError(std::string("cannot make a PNG: ") + image.message);
}

}  // namespace

Result<std::vector<uint8_t>> EncodePng(const Raster& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width());
  image.height = static_cast<png_uint_32>(picture.height());
  image.format = PNG_FORMAT_RGB;
  const void* pixels = picture.pixels().data();
  std::vector<uint8_t> bytes(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels, 0, nullptr) == 0)
    return Failed(image);
  bytes.resize(size);
  return bytes;
}

Status WritePng(const std::string& path, const Raster& picture) {
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, EncodePng(picture));
  if (path != "-") return WriteFileAtomically(path, bytes);
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  return {};
}

}  // namespace sti
