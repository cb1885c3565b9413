// The pixels of an image as files have them, before a model's scale: rows of pixels of 8 bits a
// channel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// The format of the pixels of an image file, as its head says it.
struct PixelFormat {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;
  uint32_t bits = 8;  ///< of a channel
};

/// Returns a DataError, with a command that converts the image, unless a model of this shape takes
/// pixels of this format.
Status CheckPixels(const PixelFormat& format, const ImageShape& shape);

/// Returns the sentence's end that says how an image becomes one of this shape.
std::string HowToConvert(const ImageShape& shape);

/// Returns whether the bytes begin as those of a PNG file.
bool IsPng(std::string_view bytes);
/// Returns the pixels [size, size, channels] of a PNG file. DataError if it is broken or of another
/// shape.
Result<std::vector<uint8_t>> ReadPng(std::string_view bytes, const ImageShape& shape);

/// Returns whether the bytes begin as those of a binary PPM or PGM file.
bool IsPpm(std::string_view bytes);
/// Returns the pixels [size, size, channels] of such a file. DataError as ReadPng.
Result<std::vector<uint8_t>> ReadPpm(std::string_view bytes, const ImageShape& shape);

}  // namespace sti
