#include "image/image_file.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "image/pixels.h"

namespace sti {
namespace {

constexpr uint32_t kPixelValues = 256;

std::string SizeText(uint32_t width, uint32_t height, uint32_t channels) {
  return std::to_string(width) + " x " + std::to_string(height) + " of " +
         std::to_string(channels) + (channels == 1 ? " channel" : " channels");
}

std::string SizeText(const ImageShape& shape) {
  return SizeText(shape.size, shape.size, shape.channels);
}

// The values of all pixels that a channel can have, as transformers computes them: rounded once
// when divided by 255, and again behind mean and deviation.
void ScaleOf(const PixelScale& scale, uint32_t channel, float (&values)[kPixelValues]) {
  for (uint32_t pixel = 0; pixel < kPixelValues; ++pixel) {
    const auto share = static_cast<float>(pixel * (1.0 / (kPixelValues - 1)));
    values[pixel] = (share - scale.mean[channel]) / scale.deviation[channel];
  }
}

// From [size, size, channels] to [channels, size, size].
std::vector<float> Scaled(const std::vector<uint8_t>& pixels, const ImageShape& shape,
                          const PixelScale& scale) {
  const size_t area = size_t{shape.size} * shape.size;
  std::vector<float> values(pixels.size());
  float table[kPixelValues];
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    ScaleOf(scale, channel, table);
    float* const to = values.data() + channel * area;
    for (size_t i = 0; i < area; ++i) to[i] = table[pixels[i * shape.channels + channel]];
  }
  return values;
}

Result<std::vector<float>> ReadValues(std::string_view bytes, const ImageShape& shape) {
  static_assert(std::endian::native == std::endian::little);
  const uint64_t wanted = shape.values() * sizeof(float);
  if (bytes.size() != wanted) {
    return DataError("neither PNG nor PPM, nor float32 [" + std::to_string(shape.channels) + ", " +
                     std::to_string(shape.size) + ", " + std::to_string(shape.size) +
                     "], which is " + std::to_string(wanted) + " bytes and not " +
                     std::to_string(bytes.size()) + "; " + HowToConvert(shape));
  }
  std::vector<float> values(shape.values());
  std::memcpy(values.data(), bytes.data(), wanted);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      return DataError("value " + std::to_string(i) + " of the image is not finite");
  }
  return values;
}

}  // namespace

std::string HowToConvert(const ImageShape& shape) {
  const std::string size = std::to_string(shape.size);
  const char* kind = shape.channels == 1 ? "-colorspace Gray" : "-type TrueColor";
  return "convert it: convert IMAGE -filter Triangle -resize '" + size + "x" + size + "!' " + kind +
         " -depth 8 OUT.png";
}

Status CheckPixels(const PixelFormat& format, const ImageShape& shape) {
  if (format.width != shape.size || format.height != shape.size ||
      format.channels != shape.channels) {
    return DataError("an image of " + SizeText(format.width, format.height, format.channels) +
                     ", and the model takes " + SizeText(shape) + "; " + HowToConvert(shape));
  }
  if (format.bits == 8) return {};
  return DataError("an image of " + std::to_string(format.bits) + " bits a channel, not 8; " +
                   HowToConvert(shape));
}

Result<std::vector<float>> ReadImage(std::string_view bytes, const ImageShape& shape,
                                     const PixelScale& scale) {
  if (!IsPng(bytes) && !IsPpm(bytes)) return ReadValues(bytes, shape);
  STI_ASSIGN_OR_RETURN(const std::vector<uint8_t> pixels,
                       IsPng(bytes) ? ReadPng(bytes, shape) : ReadPpm(bytes, shape));
  return Scaled(pixels, shape, scale);
}

}  // namespace sti
