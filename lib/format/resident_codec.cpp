#include "format/resident_codec.h"

#include <zstd.h>

#include <numeric>

#include "base/remedy.h"

namespace sti {
Result<std::vector<uint8_t>> DecompressPart(const ResidentLocation& location,
                                            std::span<const uint8_t> stored,
                                            const std::string& name) {
  if (location.compression == Compression::kNone) {
    return std::vector<uint8_t>(stored.begin(), stored.end());
  }
  // The frame's own claim is checked before memory is taken for it.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != location.raw_length) {
    return DataError("a resident part claims another size").At(name).Fix(Remedy::kMakeModelAgain);
  }
  std::vector<uint8_t> raw(location.raw_length);
  size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != raw.size()) {
    return DataError("a resident part does not decompress").At(name).Fix(Remedy::kMakeModelAgain);
  }
  return raw;
}

std::vector<uint64_t> ResidentTensorSizes(ResidentKind kind, const ModelShape& shape) {
  uint64_t d = shape.hidden;
  switch (kind) {
    case ResidentKind::kEmbedding:
      return {shape.token_types * d, d, d};
    case ResidentKind::kLayer:
      return {d, d, d, d, d, d, shape.ffn, d, d, d};
    case ResidentKind::kHead:
    case ResidentKind::kStatedHead:
      return {d * d, d, shape.labels * d, shape.labels};
    case ResidentKind::kVocabulary:
    case ResidentKind::kMerges:
      break;
  }
  return {};
}

Result<std::vector<std::span<const uint8_t>>> ResidentTensors(const ResidentLocation& location,
                                                              const ModelShape& shape,
                                                              std::span<const uint8_t> raw,
                                                              const std::string& name) {
  const std::vector<uint64_t> sizes = ResidentTensorSizes(location.kind, shape);
  const uint64_t values = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  const uint64_t width = BytesOf(location.type);
  if (raw.size() != values * width) {
    return DataError("a resident part has another size than the shape")
        .At(name)
        .Fix(Remedy::kMakeModelAgain);
  }
  std::vector<std::span<const uint8_t>> tensors;
  tensors.reserve(sizes.size());
  uint64_t next = 0;
  for (const uint64_t size : sizes) {
    tensors.push_back(raw.subspan(next, size * width));
    next += size * width;
  }
  return tensors;
}

}  // namespace sti
