#include <png.h>

#include <cstdio>

#include "base/atomic_file.h"
#include "pictures/raster.h"

namespace sti {
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
