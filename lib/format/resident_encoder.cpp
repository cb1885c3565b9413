// The writing half of resident_codec.h, in a file of its own: what runs a plan does not link it.
#include <zstd.h>

#include "format/resident_codec.h"

namespace sti {
namespace {

constexpr int kZstdLevel = 19;

}  // namespace

StoredPart CompressPart(std::span<const uint8_t> raw) {
  StoredPart part;
  part.bytes.resize(ZSTD_compressBound(raw.size()));
  size_t size =
      ZSTD_compress(part.bytes.data(), part.bytes.size(), raw.data(), raw.size(), kZstdLevel);
  if (ZSTD_isError(size) == 0 && size < raw.size() - raw.size() / 4) {
    part.bytes.resize(size);
    part.compression = Compression::kZstd;
  } else {
    part.bytes.assign(raw.begin(), raw.end());
  }
  return part;
}

}  // namespace sti
