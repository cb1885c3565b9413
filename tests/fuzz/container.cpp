#include <algorithm>
#include <array>
#include <cmath>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/digest.h"
#include "base/little_endian.h"
#include "base/utf8.h"
#include "format/container_header.h"
#include "format/container_index.h"
#include "format/resident_codec.h"
#include "format/shard_codec.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "io/container_file.h"
#include "kernels/decode.h"
#include "model/verify.h"
#include "text/vocabulary.h"
#include "types/plan.h"

namespace sti::fuzz {
namespace {

/// The input as whole blocks, with a header that fits it: only the minor version and the length of
/// the index are the input's.
AlignedBuffer Sealed(Input input) {
  AlignedBuffer file(std::max(RoundUp(input.size(), kBlockBytes), kBlockBytes));
  std::fill_n(file.data(), file.size(), uint8_t{0});
  std::copy(input.begin(), input.end(), file.data());
  const auto minor = LoadLittle<uint16_t>(file.data() + 10);
  const uint64_t index_bytes =
      std::min<uint64_t>(LoadLittle<uint64_t>(file.data() + 32), file.size() - 64);
  auto header = EncodeContainerHeader(
      {file.size(), 64, index_bytes, Checksum(file.span().subspan(64, index_bytes)), 0});
  StoreLittle<uint16_t>(&header[10], minor);
  StoreLittle<uint64_t>(&header[56], Checksum(std::span<const uint8_t>(header).first(56)));
  std::copy(header.begin(), header.end(), file.data());
  return file;
}

void DecodeText(const ResidentLocation& location, Input stored) {
  auto text = UnpackText(location, stored, "f");
  if (!text.ok()) return RequireDataError(text.error());
  Require(text->size() == location.raw_length, "a text is as long as the index says");
  if (location.kind != ResidentKind::kVocabulary) return;
  const auto vocabulary = Vocabulary::FromText(std::move(*text));
  if (!vocabulary.ok()) RequireDataError(vocabulary.error());
}

void DecodeResident(const ContainerIndex& index, std::span<const uint8_t> file) {
  for (const ResidentLocation& location : index.resident) {
    const auto stored = file.subspan(location.part.offset, location.part.length);
    if (IsText(location.kind)) {
      DecodeText(location, stored);
      continue;
    }
    uint64_t bytes = 0;
    const Status read = ReadTensors(location, index.info.shape, stored, "f",
                                    [&](TensorRole, uint64_t, std::span<const uint8_t> values) {
                                      bytes += values.size();
                                      return Status();
                                    });
    if (!read.ok()) RequireDataError(read.error());
    Require(!read.ok() || bytes == location.raw_length, "a part is as long as the index says");
  }
}

void DecodeShard(const ContainerIndex& index, uint32_t layer, uint32_t slice,
                 std::span<const uint8_t> file) {
  const ShardLocation& shard = index.shard({layer, slice});
  PerPart<std::span<const uint8_t>> parts;
  for (const PartKind part : kPartKinds) {
    parts[part] = file.subspan(shard.parts[part].offset, shard.parts[part].length);
  }
  const uint64_t weights = ShardWeights(index.info.shape);
  std::vector<float> out(RoundUp(weights, 64));
  for (const uint32_t bits : index.bits) {
    if (!index.Holds({{layer, slice}, bits})) continue;
    const auto view = ViewShard(index.info, index.centroids[layer], bits, parts, "f");
    if (view.ok()) {
      DecodeWeights(*view, 0, weights, out.data());
    } else {
      RequireDataError(view.error());
    }
  }
}

}  // namespace

void Container(Input input) {
  const auto as_it_is = ParseContainerHeader(input, input.size(), "f");
  if (!as_it_is.ok()) RequireDataError(as_it_is.error());
  const AlignedBuffer file = Sealed(input);
  const auto header = ParseContainerHeader(file.span(), file.size(), "f");
  Require(header.ok(), "a sealed header is read");
  const auto index = ParseContainerIndex(file.span().subspan(64, header->index_bytes), file.size(),
                                         64 + header->index_bytes, "f", header->minor);
  if (!index.ok()) return RequireDataError(index.error());
  Require(CatalogOf(*index).read_bytes.size() == index->shards.size() * index->bits.size(),
          "the catalog has every shard");
  for (const std::string& label : index->info.labels) {
    Require(IsPrintable(label) && !label.empty(), "a label can be printed");
  }
  Require(IsPrintable(index->unicode), "so can the version of Unicode");
  Require(std::isfinite(ProgressiveBitsPerWeight(*index)), "bits a weight is a number");
  DecodeResident(*index, file.span());
  for (uint32_t layer = 0; layer < index->info.shape.layers; ++layer) {
    for (uint32_t slice = 0; slice < index->info.shape.width; ++slice) {
      DecodeShard(*index, layer, slice, file.span());
    }
  }
}

void Verify(Input input) {
  const AlignedBuffer sealed = Sealed(input);
  const ScratchFile scratch(sealed.span());
  auto file = ContainerFile::Open(scratch.path(), ReadPath::kBuffered);
  if (!file.ok()) return RequireDataError(file.error());
  const auto report = VerifyContainer(*file, {});
  Require(report.ok(), "verifying reports damage");
  for (const Error& damage : report->damaged) RequireDataError(damage);
}

}  // namespace sti::fuzz
