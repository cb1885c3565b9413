#include "format/container_index.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/remedy.h"
#include "network/families.h"
#include "network/tensors.h"
#include "network/traits.h"
#include "types/bits.h"

namespace sti {
namespace {

// Whether tokens of ordinary inputs have the id that takes no position (PositionRows).
bool HasUncountedTokens(const ModelInfo& info) {
  const TokenizerInfo& t = info.tokenizer;
  const uint32_t uncounted = info.position_offset - 1;
  return info.position_offset > 0 &&
         (t.pad_id != uncounted || t.cls_id == uncounted || t.sep_id == uncounted);
}

bool NeedsInputRules(const ModelInfo& info) {
  return StatesInputs(info) || HasUncountedTokens(info);
}

}  // namespace

bool StatesInputs(const ModelInfo& info) {
  return info.tokenizer.max_length != 0 || info.tokenizer.cuts_begin || LacksSecondType(info);
}

std::vector<ResidentKind> ResidentKinds(const ModelInfo& info) {
  std::vector<ResidentKind> kinds(size_t{info.shape.layers} + 1, ResidentKind::kLayer);
  kinds.front() = ResidentKind::kEmbedding;
  // A reader of 1.0 computes tanh and softmax; the other kind makes it refuse what needs more.
  const bool stated =
      info.pooler != PoolerActivation::kTanh || info.problem != Problem::kSingleLabel;
  kinds.push_back(stated ? ResidentKind::kStatedHead : ResidentKind::kHead);
  kinds.push_back(NeedsInputRules(info) ? ResidentKind::kStatedVocabulary
                                        : ResidentKind::kVocabulary);
  if (info.tokenizer.kind == TokenizerKind::kByteBpe) kinds.push_back(ResidentKind::kMerges);
  return kinds;
}

uint16_t LeastMinorFor(const ModelInfo& info) {
  if (!TraitsOf(info).empty()) return 4;
  return NeedsInputRules(info) ? 3 : 2;
}

size_t ResidentPlace(const ModelInfo& info, ResidentKind kind, uint32_t layer) {
  const size_t layers = info.shape.layers;
  switch (kind) {
    case ResidentKind::kEmbedding:
      return 0;
    case ResidentKind::kLayer:
      return 1 + size_t{layer};
    case ResidentKind::kHead:
    case ResidentKind::kStatedHead:
      return layers + 1;
    case ResidentKind::kVocabulary:
    case ResidentKind::kStatedVocabulary:
      return layers + 2;
    case ResidentKind::kMerges:
      break;
  }
  return layers + 3;
}

const ResidentLocation& ContainerIndex::Resident(ResidentKind kind, uint32_t layer) const {
  // Parsing has checked that all are there, in this order.
  return resident[ResidentPlace(info, kind, layer)];
}

bool ContainerIndex::Offers(uint32_t wanted) const {
  return std::find(bits.begin(), bits.end(), wanted) != bits.end();
}

bool ContainerIndex::Holds(const ShardAtBits& wanted) const {
  if (!Offers(wanted.bits)) return false;
  const std::vector<PartLocation> parts = PartsFor(shard(wanted.id), wanted.bits);
  return std::all_of(parts.begin(), parts.end(),
                     [](const PartLocation& part) { return part.length != 0; });
}

Digest ShapeDigest(const ModelInfo& info) {
  Digester digester;
  digester.Add(std::string_view("sti shape 1"));
  for (uint64_t number : {info.shape.layers, info.shape.width, info.shape.hidden, info.shape.ffn}) {
    digester.AddNumber(number);
  }
  digester.AddNumber(static_cast<uint64_t>(info.data_type));
  // Only where it is not what earlier versions had, so that their digests stay.
  if (info.shape.embedding) {
    digester.Add(std::string_view("embedding"));
    digester.AddNumber(*info.shape.embedding);
  }
  return digester.Finish();
}

uint64_t ProgressiveBytes(const ContainerIndex& index) {
  uint64_t bytes = 0;
  for (const ShardLocation& shard : index.shards) {
    // One extent a shard, or parts of extents that a layer's shards share.
    uint64_t parts = 0;
    const uint64_t begin = shard.parts[PartKind::kBase].offset;
    uint64_t end = begin;
    for (const PartKind part : kPartKinds) {
      if (part == PartKind::kFull) continue;
      parts += RoundUp(shard.parts[part].length, kPlaneAlignment);
      end = std::max(end, shard.parts[part].offset + shard.parts[part].length);
    }
    uint64_t extent = RoundUp(end - begin, kBlockBytes);
    bytes += index.layout == Layout::kShard ? extent : parts;
  }
  return bytes;
}

double ProgressiveBitsPerWeight(const ContainerIndex& index) {
  uint64_t weights = ShardWeights(index.info.shape) * index.shards.size();
  return static_cast<double>(ProgressiveBytes(index)) * 8 / static_cast<double>(weights);
}

BlockRange BlocksAround(const PartLocation& part) {
  return {RoundDown(part.offset, kBlockBytes), RoundUp(part.offset + part.length, kBlockBytes)};
}

std::vector<PartLocation> PartsFor(const ShardLocation& shard, uint32_t bits) {
  const PartSet wanted = PartSet::For(bits);
  std::vector<PartLocation> parts;
  for (const PartKind part : kPartKinds) {
    if (wanted.Has(part)) parts.push_back(shard.parts[part]);
  }
  return parts;
}

ShardCatalog CatalogOf(const ContainerIndex& index) {
  ShardCatalog catalog{index.info.shape.layers, index.info.shape.width, index.bits, {}};
  catalog.read_bytes.reserve(index.shards.size() * index.bits.size());
  for (const ShardLocation& shard : index.shards) {
    for (uint32_t bits : index.bits) {
      // Parts that share or touch a block are one read; others are reads of their own.
      uint64_t bytes = 0;
      uint64_t end = 0;
      std::vector<PartLocation> parts = PartsFor(shard, bits);
      std::sort(parts.begin(), parts.end(),
                [](const PartLocation& a, const PartLocation& b) { return a.offset < b.offset; });
      for (const PartLocation& part : parts) {
        const BlockRange blocks = BlocksAround(part);
        const uint64_t begin = std::max(blocks.begin, end);
        end = std::max(end, blocks.end);
        bytes += end - begin;
      }
      catalog.read_bytes.push_back(bytes);
    }
  }
  return catalog;
}

Status CheckPart(const PartLocation& part, std::span<const uint8_t> bytes, const std::string& file,
                 const std::string& what) {
  if (Checksum(bytes) == part.checksum) return {};
  return DataError(what + " is damaged").At(file).Fix(Remedy::kCopyModelAgain);
}

std::string ShardPartName(ShardId id, PartKind part) {
  const std::string name = part == PartKind::kBase   ? "base"
                           : part == PartKind::kFull ? "full fidelity"
                                                     : "plane " + std::to_string(BitsOf(part));
  return NameOf(id) + " " + name;
}

std::string ResidentName(ResidentKind kind, uint32_t layer) {
  switch (kind) {
    case ResidentKind::kEmbedding:
      return "embedding parameters";
    case ResidentKind::kLayer:
      return "layer " + std::to_string(layer) + " parameters";
    case ResidentKind::kHead:
    case ResidentKind::kStatedHead:
      return "head parameters";
    case ResidentKind::kVocabulary:
    case ResidentKind::kStatedVocabulary:
      return "vocabulary";
    case ResidentKind::kMerges:
      break;
  }
  return "merges";
}

}  // namespace sti
