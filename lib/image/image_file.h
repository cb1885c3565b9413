// An image file becomes the input of a model: a PNG or a PPM of the model's size, whose pixels are
// scaled as the model has it, or the model's input itself, as bare numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// Returns the most bytes that are read of an image's file: more than any image of this shape
/// needs, and so few that memory is bounded.
constexpr uint64_t MostImageFileBytes(const ImageShape& shape) {
  return shape.values() * sizeof(float) + (uint64_t{1} << 20);
}

/// Returns the most bytes of memory that reading such an image takes: its file, pixels and values.
constexpr uint64_t ImageReadBytes(const ImageShape& shape) {
  return MostImageFileBytes(shape) + shape.values() * (1 + sizeof(float));
}

/// Returns the values [channels, size, size] of an image of this shape. `bytes` are those of its
/// file, told apart by how they begin: a PNG, a binary PPM (P6, or P5 of one channel), or else
/// numbers of 32 bits, little-endian, which are the values as they are.
///
/// A PNG is read as Pillow reads it: colours of a palette are looked up, fewer than 8 bits a pixel
/// are stretched, and chunks about colour and transparency do not count. An image of another size,
/// another number of channels or more than 8 bits a channel is kDamaged, and the error has a
/// command that converts it; so is a file that is broken, or a number that is not finite. The size
/// is compared before pixels are decoded. Pure and thread-safe.
Result<std::vector<float>> ReadImage(std::string_view bytes, const ImageShape& shape,
                                     const PixelScale& scale);

}  // namespace sti
