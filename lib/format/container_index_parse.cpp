// Reading an index: the FlatBuffers verifier first, then what it says of the model
// (format/model_parse.h), then every other number against the limits of spec/container.md, then the
// geometry of all parts together. What passes here needs no further
// check by those who read parts.
#include <algorithm>
#include <cmath>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "container_generated.h"
#include "format/container_index.h"
#include "format/flatbuffer_values.h"
#include "format/model_parse.h"
#include "format/resident_codec.h"
#include "format/row_codec.h"
#include "format/shard_layout.h"
#include "network/families.h"
#include "network/tensors.h"
#include "network/traits.h"
#include "shard/weight_order.h"
#include "types/bits.h"
#include "types/limits.h"
#include "types/model_info.h"

namespace sti {
namespace {

constexpr uint32_t kCentroidsOfAllBits = 4 + 8 + 16 + 32 + 64;

// Parses field by field into an index; the first complaint wins.
class IndexParser {
 public:
  IndexParser(const fb::ContainerIndex& source, uint64_t file_bytes, uint64_t index_end,
              const std::string& name, bool newer_minor)
      : source_(source), file_bytes_(file_bytes), index_end_(index_end), name_(name) {
    index_.newer_minor = newer_minor;
  }

  Result<ContainerIndex> Parse() {
    STI_ASSIGN_OR_RETURN(ParsedModel model, ParseModel(source_, index_end_, name_));
    index_.info = std::move(model.info);
    index_.unicode = std::move(model.unicode);
    ParseDigest();
    STI_RETURN_IF_ERROR(ParseStage());
    index_.codebook = static_cast<CodebookKind>(source_.codebook());
    index_.layout = static_cast<Layout>(source_.layout());
    STI_RETURN_IF_ERROR(ParseBits());
    STI_RETURN_IF_ERROR(ParseCentroids());
    STI_RETURN_IF_ERROR(ParseShards());
    STI_RETURN_IF_ERROR(ParseResident());
    STI_RETURN_IF_ERROR(ParseRows());
    const std::string problem = ProblemOfPlaces(index_, index_end_, file_bytes_);
    if (!problem.empty()) return Bad(problem);
    return std::move(index_);
  }

 private:
  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError(what).At("index").At(name_).Fix(Remedy::kMakeModelAgain);
  }

  void ParseDigest() {
    const uint64_t halves[2] = {source_.model()->high(), source_.model()->low()};
    for (int i = 0; i < 16; ++i) {
      index_.model.bytes[i] = static_cast<uint8_t>(halves[i / 8] >> (56 - 8 * (i % 8)));
    }
  }

  // Since 1.7. What the stage does not run is not there.
  Status ParseStage() {
    const fb::Stage* const stored = source_.stage();
    if (stored == nullptr) return {};
    if (stored->begin() >= stored->end() || stored->end() > index_.info.shape.layers ||
        !source_.partial()) {
      return Bad("a stage of no layers, or in a container of all shards");
    }
    index_.stage = {stored->begin(), stored->end(), {stored->text(), stored->head()}};
    return {};
  }
  [[nodiscard]] bool HasLayer(uint32_t layer) const {
    return !index_.stage || index_.stage->HasLayer(layer);
  }

  Status ParseBits() {
    const auto* bits = source_.bits();
    if (bits == nullptr || bits->size() == 0) return Bad("no bitwidths");
    for (uint8_t value : *bits) {
      bool known = IsBits(value);
      if (!known || (!index_.bits.empty() && index_.bits.back() >= value)) return Bad("bitwidths");
      index_.bits.push_back(value);
    }
    return {};
  }

  Status ParseCentroids() {
    const auto* layers = source_.centroids();
    if (layers == nullptr || layers->size() != index_.info.shape.layers) return Bad("no centroids");
    for (const auto* layer : *layers) {
      if (!HasLayer(static_cast<uint32_t>(index_.centroids.size()))) {
        if (layer->values() != nullptr && layer->values()->size() != 0)
          return Bad("centroids of a layer that the stage lacks");
        index_.centroids.emplace_back();
        continue;
      }
      if (layer->values() == nullptr || layer->values()->size() != kCentroidsOfAllBits) {
        return Bad("a layer has another number of centroids");
      }
      Codebook codebook;
      const float* next = layer->values()->data();
      for (uint32_t bits = kLeastBits; bits <= kMostBits; ++bits) {
        codebook.centroids[bits].assign(next, next + (1U << bits));
        bool finite =
            std::all_of(next, next + (1U << bits), [](float c) { return std::isfinite(c); });
        if (!finite) return Bad("a centroid that is not a number");
        next += 1U << bits;
      }
      STI_RETURN_IF_ERROR(ParseScales(*layer, codebook));
      index_.centroids.push_back(std::move(codebook));
    }
    return {};
  }

  // Six for each hidden channel, as bfloat16, if the codebook is of the kind that has them.
  Status ParseScales(const fb::LayerCentroids& layer, Codebook& codebook) {
    if (index_.codebook != CodebookKind::kScaledTree) return {};
    if (layer.scales() == nullptr ||
        layer.scales()->size() != CountAt(Home::kShard) * index_.info.shape.hidden) {
      return Bad("a layer has another number of scales");
    }
    // As with labels: layers that share one list would outgrow the file.
    scale_bytes_ += layer.scales()->size() * sizeof(uint16_t);
    if (scale_bytes_ > index_end_ - kContainerHeaderBytes)
      return Bad("scales longer than the index");
    codebook.scales.reserve(layer.scales()->size());
    for (uint16_t bits : *layer.scales()) {
      codebook.scales.push_back(BFloatToFloat(bits));
      if (!std::isnormal(codebook.scales.back()) || codebook.scales.back() < 0) {
        return Bad("a scale that is not a positive number");
      }
    }
    return {};
  }

  Status ParseShards() {
    const ModelShape& shape = index_.info.shape;
    index_.shards.resize(size_t{shape.layers} * shape.width);
    if (source_.shard_parts() == nullptr) return Bad("no shards");
    for (const fb::ShardPart* part : *source_.shard_parts()) {
      bool known = IsBits(part->bits());
      if (!known || part->layer() >= shape.layers || part->slice() >= shape.width ||
          !HasLayer(part->layer())) {
        return Bad("a shard part outside the shape");
      }
      PartLocation& place = index_.shards[size_t{part->layer()} * shape.width + part->slice()]
                                .parts[PartAt(part->bits())];
      if (place.length != 0 || part->length() == 0) return Bad("a shard part twice or empty");
      place = {part->offset(), part->length(), part->checksum()};
      STI_RETURN_IF_ERROR(CheckPlaneLength(part->bits(), part->length(), part->offset()));
    }
    index_.partial = source_.partial();
    return index_.partial ? Status() : CheckOfferedBits();
  }

  [[nodiscard]] Status CheckPlaneLength(uint32_t bits, uint64_t length, uint64_t offset) const {
    uint64_t weights = ShardWeights(index_.info.shape);
    uint64_t plane = PlaneBytes(weights);
    bool right = length == plane;
    if (bits == kFullBits) right = length == weights * BytesOf(index_.info.data_type);
    if (bits == kLeastBits) right = length > 2 * plane && length <= 2 * plane + weights * 8 + 4096;
    if (!right || offset % kPlaneAlignment != 0)
      return Bad("a shard part of a wrong size or place");
    return {};
  }

  // Every shard has all parts that the offered bitwidths need.
  [[nodiscard]] Status CheckOfferedBits() const {
    for (const ShardLocation& shard : index_.shards) {
      for (uint32_t bits : index_.bits) {
        for (const PartLocation& part : PartsFor(shard, bits)) {
          if (part.length == 0) return Bad("a shard lacks a plane");
        }
      }
    }
    return {};
  }

  Status ParseResident() {
    const auto* parts = source_.resident_parts();
    const std::vector<ResidentKind> kinds = ResidentKinds(index_.info);
    const uint32_t first = HasEmbeddingPart(index_.info) ? 1 : 0;  // of the layers'
    if (parts == nullptr || parts->size() != kinds.size()) return Bad("resident parts missing");
    for (uint32_t i = 0; i < parts->size(); ++i) {
      const fb::ResidentPart& p = *parts->Get(i);
      const ResidentKind kind = kinds[i];
      if (index_.stage && !IsOfStage(kind, i - first, *index_.stage)) {
        if (p.offset() != 0 || p.length() != 0 || p.raw_length() != 0)
          return Bad("a resident part that the stage lacks");
        index_.resident.push_back({.layer = p.layer(), .kind = kind});
        continue;
      }
      if (!IsKind(p.kind(), kind) || p.type() > 2 || p.compression() > 1 ||
          (kind == ResidentKind::kLayer && p.layer() != i - first) || !RawLengthIsRight(kind, p) ||
          p.length() == 0 || (p.compression() == 0 && p.length() != p.raw_length())) {
        return Bad("a resident part of a wrong kind or size");
      }
      index_.resident.push_back({{p.offset(), p.length(), p.checksum()},
                                 p.raw_length(),
                                 p.layer(),
                                 kind,
                                 static_cast<DataType>(p.type()),
                                 static_cast<Compression>(p.compression())});
    }
    return {};
  }

  // A vocabulary of the newer kind may always stand there, one of the older kind where the fields
  // of 1.3 are absent.
  [[nodiscard]] bool IsKind(uint8_t stored, ResidentKind kind) const {
    if (kind != ResidentKind::kVocabulary && kind != ResidentKind::kStatedVocabulary) {
      return stored == static_cast<uint8_t>(kind);
    }
    return stored == static_cast<uint8_t>(ResidentKind::kStatedVocabulary) ||
           (stored == static_cast<uint8_t>(ResidentKind::kVocabulary) &&
            !StatesInputs(index_.info));
  }

  // Memory is taken by this number, so it is the shape's and no other.
  [[nodiscard]] bool RawLengthIsRight(ResidentKind kind, const fb::ResidentPart& part) const {
    if (IsText(kind)) return part.raw_length() <= kMaxTextBytes;
    const uint64_t values = ValuesAt(HomeOf(kind), index_.info.shape);
    uint64_t bytes = values * BytesOf(static_cast<DataType>(part.type()));
    return part.raw_length() == bytes && bytes <= kMaxResidentBytes;
  }

  Status ParseRows() {
    const auto* tables = source_.row_tables();
    if (tables == nullptr || tables->size() != 2) return Bad("embedding tables missing");
    const ModelShape& shape = index_.info.shape;
    for (uint32_t i = 0; i < 2; ++i) {
      const fb::RowTable& t = *tables->Get(i);
      if (!index_.HasText()) {
        if (t.offset() != 0 || t.rows() != 0)
          return Bad("embedding rows that the stage or the model lacks");
        index_.positions.kind = RowTableKind::kPosition;
        continue;
      }
      uint32_t rows = i == 0 ? shape.vocabulary : shape.max_positions;
      if (t.kind() != i || t.coding() > 1 || t.type() > 2 || t.rows() != rows ||
          t.columns() != shape.embedding_width() ||
          t.row_bytes() != RowBytes(shape.embedding_width(), static_cast<DataType>(t.type()),
                                    static_cast<RowCoding>(t.coding()))) {
        return Bad("an embedding table of a wrong kind or size");
      }
      (i == 0 ? index_.words : index_.positions) = {t.offset(),
                                                    t.rows(),
                                                    t.columns(),
                                                    t.row_bytes(),
                                                    static_cast<RowTableKind>(t.kind()),
                                                    static_cast<DataType>(t.type()),
                                                    static_cast<RowCoding>(t.coding())};
    }
    return {};
  }

  const fb::ContainerIndex& source_;
  uint64_t file_bytes_;
  uint64_t index_end_;
  const std::string& name_;
  uint64_t scale_bytes_ = 0;
  ContainerIndex index_;
};

bool IsWellFormed(std::span<const uint8_t> bytes) {
  constexpr int kMaxDepth = 8;
  constexpr int kMaxTables = 1 << 20;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMaxDepth, kMaxTables);
  if (!fb::VerifyContainerIndexBuffer(verifier)) return false;
  const fb::ContainerIndex& index = *fb::GetContainerIndex(bytes.data());
  return IsAligned(index.shard_parts()) && IsAligned(index.resident_parts()) &&
         IsAligned(index.row_tables());
}

}  // namespace

Result<ContainerIndex> ParseContainerIndex(std::span<const uint8_t> bytes, uint64_t file_bytes,
                                           uint64_t index_end, const std::string& name,
                                           uint16_t minor) {
  if (!IsWellFormed(bytes)) {
    return DataError("index is not well-formed").At(name).Fix(Remedy::kCopyModelAgain);
  }
  return IndexParser(*fb::GetContainerIndex(bytes.data()), file_bytes, index_end, name,
                     minor > kContainerMinor)
      .Parse();
}

}  // namespace sti
