// Reading an index: the FlatBuffers verifier first, then every number against the limits of
// spec/container.md, then the geometry of all parts together. What passes here needs no further
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
    STI_RETURN_IF_ERROR(CheckTraits());
    STI_RETURN_IF_ERROR(ParseShape());
    STI_RETURN_IF_ERROR(ParseStage());
    STI_RETURN_IF_ERROR(ParseInfo());
    STI_RETURN_IF_ERROR(ParseDepths());
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

  // Refuses a network that does what this library does not compute, before anything else is read.
  Status CheckTraits() const {
    if (source_.traits() == nullptr) return {};
    for (const auto* trait : *source_.traits()) {
      const std::string_view name = trait->string_view();
      if (IsKnownTrait(name)) continue;
      if (!IsPlainText(name, kMaxShortTextBytes)) return Bad("a trait without a plain name");
      return Bad("the model's network has the trait \"" + std::string(name) +
                 "\", which this tool does not know");
    }
    return {};
  }

  // The names say what the fields do.
  [[nodiscard]] bool TraitsFit() const {
    std::vector<std::string_view> traits = TraitsOf(index_.info);
    if (index_.stage) traits.push_back(kStageTrait);
    const auto* stored = source_.traits();
    if (stored == nullptr) return traits.empty();
    return std::equal(
        stored->begin(), stored->end(), traits.begin(), traits.end(),
        [](const auto* name, std::string_view trait) { return name->string_view() == trait; });
  }

  Status ParseShape() {
    if (source_.shape() == nullptr || source_.model() == nullptr) return Bad("no shape or digest");
    const fb::Shape& s = *source_.shape();
    index_.info.shape = {s.layers(),     s.width(),         s.hidden(),      s.ffn(),
                         s.vocabulary(), s.max_positions(), s.token_types(), s.labels()};
    auto within = [](uint32_t value, uint32_t limit) { return value >= 1 && value <= limit; };
    if (!within(s.layers(), kMaxLayers) || !within(s.width(), kMaxWidth) ||
        !within(s.hidden(), kMaxHidden) || !within(s.ffn(), kMaxFfn) ||
        !within(s.max_positions(), kMaxPositions) || s.labels() > kMaxLabels ||
        (s.labels() == 0 && source_.head() == 0)) {
      return Bad("shape outside the limits");
    }
    index_.info.shape.norm_before = source_.norm_before();
    if (source_.image() != nullptr) {
      STI_RETURN_IF_ERROR(ParseImage(*source_.image()));
    } else if (!within(s.vocabulary(), kMaxVocabulary) ||
               !within(s.token_types(), kMaxTokenTypes)) {
      return Bad("shape outside the limits");
    }
    if (source_.embedding() != 0) {
      if (source_.embedding() > kMaxHidden || source_.embedding() == s.hidden()) {
        return Bad("embedding");
      }
      index_.info.shape.embedding = source_.embedding();
    }
    if (s.hidden() % s.width() != 0 || s.ffn() % s.width() != 0) {
      return Bad("width does not divide the shape");
    }
    uint64_t halves[2] = {source_.model()->high(), source_.model()->low()};
    for (int i = 0; i < 16; ++i) {
      index_.model.bytes[i] = static_cast<uint8_t>(halves[i / 8] >> (56 - 8 * (i % 8)));
    }
    return {};
  }

  // Since 1.8. A model of images has no words, and a position for each patch and the class token.
  Status ParseImage(const fb::Image& stored) {
    const ImageShape image = {stored.size(), stored.patch(), stored.channels()};
    if (!IsImageShape(image)) return Bad("an image outside the limits");
    ModelInfo& info = index_.info;
    info.shape.image = image;
    if (info.shape.vocabulary != 0 || info.shape.token_types != 0 || source_.embedding() != 0 ||
        info.shape.max_positions != uint64_t{image.patches()} + 1) {
      return Bad("a model of images with words, or with other positions than its patches have");
    }
    const auto* mean = source_.pixel_mean();
    const auto* deviation = source_.pixel_deviation();
    if (mean == nullptr || deviation == nullptr) return Bad("no scale of pixels");
    info.pixels = {{mean->begin(), mean->end()}, {deviation->begin(), deviation->end()}};
    return IsPixelScale(info.pixels, image.channels) ? Status() : Bad("a scale of pixels");
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

  Status ParseInfo() {
    ModelInfo& info = index_.info;
    const auto* labels = source_.labels();
    const auto* tokenizer = source_.tokenizer();
    if (source_.data_type() > 2 || source_.activation() > 2 || source_.codebook() > 2 ||
        source_.layout() > 1) {
      return Bad("a type, activation, codebook or layout this tool does not know");
    }
    if (labels == nullptr || labels->size() != info.shape.labels) return Bad("labels missing");
    if (tokenizer == nullptr) return Bad("no tokenizer");
    STI_RETURN_IF_ERROR(ParseTokenizer(*tokenizer));
    STI_RETURN_IF_ERROR(ParseHead());
    STI_RETURN_IF_ERROR(ParseArchitecture());
    if (!(source_.layer_norm_eps() >= 0 && source_.layer_norm_eps() <= 1)) return Bad("norm eps");
    info.data_type = static_cast<DataType>(source_.data_type());
    info.activation = static_cast<Activation>(source_.activation());
    info.layer_norm_eps = source_.layer_norm_eps();
    info.elastic = source_.elastic();
    // A file of 1.0 or 1.1 lacks the least depth, and absent it is 0.
    info.min_depth = std::max(source_.min_depth(), 1U);
    if (info.min_depth > info.shape.layers) return Bad("min_depth");
    info.min_width = source_.min_width();
    if (info.min_width < 1 || info.min_width > info.shape.width) return Bad("min_width");
    index_.codebook = static_cast<CodebookKind>(source_.codebook());
    index_.layout = static_cast<Layout>(source_.layout());
    return ParseLabels(*labels);
  }

  Status ParseTokenizer(const fb::TokenizerOptions& options) {
    TokenizerInfo& info = index_.info.tokenizer;
    if (options.kind() > 1) return Bad("a tokenizer this tool does not know");
    if (!index_.info.has_text()) return {};  // it reads nothing
    info = {options.lowercase(),  options.strip_accents(), options.split_chinese(),
            options.unknown_id(), options.cls_id(),        options.sep_id(),
            options.pad_id()};
    info.kind = static_cast<TokenizerKind>(options.kind());
    info.add_prefix_space = options.add_prefix_space();
    for (uint32_t id : {info.unknown_id, info.cls_id, info.sep_id, info.pad_id}) {
      if (id >= index_.info.shape.vocabulary) return Bad("a special token outside the vocabulary");
    }
    if (options.unicode() == nullptr) return {};
    if (!IsPlainText(options.unicode()->string_view(), kMaxShortTextBytes)) {
      return Bad("unicode is not at most 64 bytes of printable ASCII");
    }
    index_.unicode = options.unicode()->str();
    return {};
  }

  // The pooler and the problem came with 1.1, heads that embed with 1.5, those that label tokens
  // with 1.6.
  Status ParseHead() {
    ModelInfo& info = index_.info;
    if (source_.pooler() > 3 || source_.problem() > 1 || source_.head() > 2 ||
        source_.pooling() > 3) {
      return Bad("a pooler, problem, head or pooling this tool does not know");
    }
    info.pooler = static_cast<PoolerActivation>(source_.pooler());
    info.problem = static_cast<Problem>(source_.problem());
    info.head = {static_cast<HeadOutput>(source_.head()), static_cast<Pooling>(source_.pooling()),
                 source_.unit_length()};
    info.shape.has_pooler = info.pooler != PoolerActivation::kNone;
    return HeadFits(info) ? Status() : Bad("a head of other parts than it says");
  }

  // A model that embeds has neither pooler nor labels, and one that labels tokens no pooler. One
  // that labels inputs has a pooler, or since 1.8 the last norm of norms in front, which alone have
  // such a head.
  static bool HeadFits(const ModelInfo& info) {
    const ModelShape& shape = info.shape;
    if (info.has_labels()) {
      return shape.labels > 0 && info.head == HeadTraits() && shape.has_pooler != shape.norm_before;
    }
    if (shape.norm_before) return false;
    if (shape.has_pooler || info.problem != Problem::kSingleLabel) return false;
    if (info.labels_tokens()) return shape.labels > 0 && info.head == HeadTraits::OfTokenLabels();
    return shape.labels == 0 && info.head.pooling != Pooling::kNone;
  }

  // Fields of version 1.1. A file of 1.0 lacks them, and absent they are 0: what 1.0 meant.
  Status ParseArchitecture() {
    ModelInfo& info = index_.info;
    const Family* family = FindFamily(source_.architecture());
    if (family == nullptr) return Bad("an architecture this tool does not know");
    info.architecture = family->architecture;
    if ((family->input == FamilyInput::kTexts) != info.has_text() ||
        family->norm_before != info.shape.norm_before) {
      return Bad("a network other than its architecture's");
    }
    if (!TraitsFit()) return Bad("traits other than those of the network");
    if (!info.has_text()) {
      return source_.position_offset() == 0 ? Status() : Bad("position_offset");
    }
    info.position_offset = source_.position_offset();
    const bool bpe = info.tokenizer.kind == TokenizerKind::kByteBpe;
    if (info.position_offset != 0 && !bpe) return Bad("position_offset");
    return ParseInputs(*source_.tokenizer());
  }

  // Fields of version 1.3, whose vocabulary says by its kind that they are there.
  Status ParseInputs(const fb::TokenizerOptions& options) {
    ModelInfo& info = index_.info;
    info.tokenizer.max_length = options.max_length();
    info.tokenizer.cuts_begin = options.cuts_begin();
    const bool two_types = FamilyOf(info).has_two_types && !options.one_type();
    info.tokenizer.second_type = two_types ? 1 : 0;
    const bool fits = info.position_offset < info.shape.max_positions;
    if (!fits || info.max_length() < kMinLength) return Bad("no room for the shortest input");
    if (info.tokenizer.max_length > info.shape.max_positions - info.position_offset) {
      return Bad("max_length above the positions");
    }
    return {};
  }

  // Offsets may name one long text many times, so that copies outgrow the file.
  Status ParseLabels(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>& labels) {
    uint64_t bytes = 0;
    for (const auto* label : labels) bytes += label->size();
    if (bytes > index_end_ - kContainerHeaderBytes) return Bad("labels longer than the index");
    for (const auto* label : labels) index_.info.labels.push_back(label->str());
    const std::string problem = ProblemOfLabels(index_.info.labels);
    return problem.empty() ? Status() : Bad(problem);
  }

  Status ParseDepths() {
    const auto* rows = source_.depth_layers();
    uint32_t layers = index_.info.shape.layers;
    if (rows == nullptr || rows->size() != layers) return Bad("depth map missing");
    for (uint32_t n = 1; n <= layers; ++n) {
      const auto* row = rows->Get(n - 1)->layers();
      if (row == nullptr || row->size() != n) return Bad("depth map has a row of another length");
      std::vector<uint32_t> depth(row->begin(), row->end());
      if (!IsDepthRow(depth, n, layers)) return Bad("depth map is not ascending");
      index_.info.depth_layers.push_back(std::move(depth));
    }
    return {};
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
    if (parts == nullptr || parts->size() != kinds.size()) return Bad("resident parts missing");
    for (uint32_t i = 0; i < parts->size(); ++i) {
      const fb::ResidentPart& p = *parts->Get(i);
      const ResidentKind kind = kinds[i];
      if (index_.stage && !IsOfStage(kind, i - 1, *index_.stage)) {
        if (p.offset() != 0 || p.length() != 0 || p.raw_length() != 0)
          return Bad("a resident part that the stage lacks");
        index_.resident.push_back({.layer = p.layer(), .kind = kind});
        continue;
      }
      if (!IsKind(p.kind(), kind) || p.type() > 2 || p.compression() > 1 ||
          (kind == ResidentKind::kLayer && p.layer() != i - 1) || !RawLengthIsRight(kind, p) ||
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
