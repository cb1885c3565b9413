#include "format/resident_codec.h"

#include <zstd.h>

#include <numeric>

#include "kernels/decode.h"

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

Result<std::vector<uint8_t>> DecompressPart(const ResidentLocation& location,
                                            std::span<const uint8_t> stored,
                                            const std::string& name) {
  if (location.compression == Compression::kNone) {
    return std::vector<uint8_t>(stored.begin(), stored.end());
  }
  // The frame's own claim is checked before memory is taken for it.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != location.raw_length) {
    return DataError(name + ": a resident part claims another size; run sti-shard again");
  }
  std::vector<uint8_t> raw(location.raw_length);
  size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != raw.size()) {
    return DataError(name + ": a resident part does not decompress; run sti-shard again");
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

Result<std::vector<std::vector<float>>> SplitResident(const ResidentLocation& location,
                                                      const ModelShape& shape,
                                                      std::span<const uint8_t> raw,
                                                      const std::string& name) {
  std::vector<uint64_t> sizes = ResidentTensorSizes(location.kind, shape);
  uint64_t values = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  uint64_t width = BytesOf(location.type);
  if (raw.size() != values * width) {
    return DataError(name +
                     ": a resident part has another size than the shape; run sti-shard again");
  }
  std::vector<std::vector<float>> tensors;
  const uint8_t* next = raw.data();
  for (uint64_t size : sizes) {
    std::vector<float>& tensor = tensors.emplace_back(size);
    WidenWeights(next, location.type, size, tensor.data());
    next += size * width;
  }
  return tensors;
}

}  // namespace sti
