#include "format/container_index.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/half.h"
#include "base/remedy.h"
#include "container_generated.h"
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

bool HasEmbeddingPart(const ModelInfo& info) { return ValuesAt(Home::kEmbedding, info.shape) > 0; }

bool HasHeadPart(const ModelInfo& info) { return ValuesAt(Home::kHead, info.shape) > 0; }

bool StatesInputs(const ModelInfo& info) {
  return info.tokenizer.max_length != 0 || info.tokenizer.cuts_begin || LacksSecondType(info);
}

std::vector<ResidentKind> ResidentKinds(const ModelInfo& info) {
  std::vector<ResidentKind> kinds;
  if (HasEmbeddingPart(info)) kinds.push_back(ResidentKind::kEmbedding);
  kinds.insert(kinds.end(), info.shape.layers, ResidentKind::kLayer);
  // A reader of 1.0 computes tanh and softmax; the other kind makes it refuse what needs more.
  const bool stated =
      info.pooler != PoolerActivation::kTanh || info.problem != Problem::kSingleLabel;
  if (HasHeadPart(info)) kinds.push_back(stated ? ResidentKind::kStatedHead : ResidentKind::kHead);
  if (!info.has_text()) return kinds;
  kinds.push_back(NeedsInputRules(info) ? ResidentKind::kStatedVocabulary
                                        : ResidentKind::kVocabulary);
  if (info.tokenizer.kind == TokenizerKind::kByteBpe) kinds.push_back(ResidentKind::kMerges);
  return kinds;
}

uint16_t LeastMinorFor(const ContainerIndex& index) {
  return std::max<uint16_t>(index.stage ? 7 : 0, LeastMinorFor(index.info));
}

bool IsOfStage(ResidentKind kind, uint32_t layer, const StageExtent& stage) {
  switch (kind) {
    case ResidentKind::kLayer:
      return stage.HasLayer(layer);
    case ResidentKind::kHead:
    case ResidentKind::kStatedHead:
      return stage.ends.head;
    case ResidentKind::kEmbedding:
    case ResidentKind::kVocabulary:
    case ResidentKind::kStatedVocabulary:
    case ResidentKind::kMerges:
      break;
  }
  return stage.ends.text;
}

bool ContainerIndex::Serves(const StageExtent& wanted) const {
  if (!stage) return true;
  return stage->begin <= wanted.begin && wanted.end <= stage->end &&
         (stage->ends.text || !wanted.ends.text) && (stage->ends.head || !wanted.ends.head);
}

uint16_t LeastMinorFor(const ModelInfo& info) {
  return std::max<uint16_t>(NeedsInputRules(info) ? 3 : 2, LeastMinorOfTraits(info));
}

size_t ResidentPlace(const ModelInfo& info, ResidentKind kind, uint32_t layer) {
  const size_t first = HasEmbeddingPart(info) ? 1 : 0;  // of the layers'
  const size_t head = first + info.shape.layers;
  const size_t texts = head + (HasHeadPart(info) ? 1 : 0);
  switch (kind) {
    case ResidentKind::kEmbedding:
      return 0;
    case ResidentKind::kLayer:
      return first + layer;
    case ResidentKind::kHead:
    case ResidentKind::kStatedHead:
      return head;
    case ResidentKind::kVocabulary:
    case ResidentKind::kStatedVocabulary:
      return texts;
    case ResidentKind::kMerges:
      break;
  }
  return texts + 1;
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

std::vector<uint32_t> ContainerIndex::WholeLayersAt(uint32_t wanted) const {
  std::vector<uint32_t> layers;
  for (uint32_t layer = 0; layer < info.shape.layers; ++layer) {
    bool whole = Resident(ResidentKind::kLayer, layer).part.length != 0;
    for (uint32_t slice = 0; whole && slice < info.shape.width; ++slice)
      whole = Holds({{layer, slice}, wanted});
    if (whole) layers.push_back(layer);
  }
  return layers;
}

std::vector<uint32_t> ContainerIndex::BitsOfWholeLayers() const {
  const size_t least = std::min(2U, info.shape.layers);
  std::vector<uint32_t> whole;
  for (const uint32_t offered : bits) {
    if (WholeLayersAt(offered).size() >= least) whole.push_back(offered);
  }
  return whole;
}

std::string ProblemOfPlaces(const ContainerIndex& index, uint64_t index_end, uint64_t file_bytes) {
  std::vector<PartLocation> all;
  for (const ShardLocation& shard : index.shards) {
    for (const PartLocation& part : shard.parts) {
      if (part.length != 0) all.push_back(part);
    }
  }
  for (const ResidentLocation& resident : index.resident) {
    if (resident.part.length != 0) all.push_back(resident.part);
  }
  for (const RowTable* table : {&index.words, &index.positions}) {
    if (table->rows == 0) continue;
    all.push_back({table->offset, uint64_t{table->rows} * table->row_bytes, 0});
  }
  std::sort(all.begin(), all.end(),
            [](const PartLocation& a, const PartLocation& b) { return a.offset < b.offset; });
  // A newer minor version's own fields describe what it puts elsewhere.
  uint64_t end = index_end;
  for (const PartLocation& part : all) {
    if (!RangeFits(part.offset, part.length, file_bytes)) return "a part outside the file";
    if (part.offset < end) return "two parts overlap";
    if (part.offset - end >= kBlockBytes && !index.newer_minor) return "a hole between parts";
    end = part.offset + part.length;
  }
  const bool ends_well = RoundUp(end, kBlockBytes) == file_bytes || index.newer_minor;
  return ends_well ? "" : "bytes behind the last part";
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
  if (info.shape.norm_before) digester.Add(std::string_view("norm before"));
  if (info.shape.causal) {
    digester.Add(std::string_view("causal"));
    digester.AddNumber(info.shape.vocabulary);  // whose rows are the head
  }
  if (info.shape.image) {
    digester.Add(std::string_view("image"));
    for (const uint64_t number : {info.shape.image->patches(), info.shape.image->patch_values()}) {
      digester.AddNumber(number);
    }
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

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <typename T>
using Table = Offset<T>;

fb::Digest128 EncodeDigest(const Digest& digest) {
  uint64_t halves[2] = {0, 0};
  for (int i = 0; i < 16; ++i) halves[i / 8] = halves[i / 8] << 8 | digest.bytes[i];
  return {halves[0], halves[1]};
}

fb::Shape EncodeShape(const ModelShape& s) {
  return {s.layers,     s.width,         s.hidden,      s.ffn,
          s.vocabulary, s.max_positions, s.token_types, s.labels};
}

std::vector<fb::ShardPart> EncodeShards(const ContainerIndex& index) {
  std::vector<fb::ShardPart> parts;
  uint32_t width = index.info.shape.width;
  for (size_t i = 0; i < index.shards.size(); ++i) {
    for (const PartKind kind : kPartKinds) {
      const PartLocation& part = index.shards[i].parts[kind];
      if (part.length == 0) continue;
      parts.emplace_back(part.offset, part.length, part.checksum, static_cast<uint16_t>(i / width),
                         static_cast<uint16_t>(i % width), static_cast<uint8_t>(BitsOf(kind)));
    }
  }
  return parts;
}

std::vector<fb::ResidentPart> EncodeResident(const ContainerIndex& index) {
  std::vector<fb::ResidentPart> parts;
  for (const ResidentLocation& r : index.resident) {
    parts.emplace_back(r.part.offset, r.part.length, r.raw_length, r.part.checksum,
                       static_cast<uint16_t>(r.layer), static_cast<uint8_t>(r.kind),
                       static_cast<uint8_t>(r.type), static_cast<uint8_t>(r.compression));
  }
  return parts;
}

fb::RowTable EncodeRows(const RowTable& table) {
  return {table.offset,
          table.rows,
          table.columns,
          table.row_bytes,
          static_cast<uint8_t>(table.kind),
          static_cast<uint8_t>(table.type),
          static_cast<uint8_t>(table.coding)};
}

std::vector<Table<fb::DepthRow>> EncodeDepths(FlatBufferBuilder& builder, const ModelInfo& info) {
  std::vector<Table<fb::DepthRow>> rows;
  for (const auto& layers : info.depth_layers) {
    std::vector<uint16_t> narrow(layers.begin(), layers.end());
    rows.push_back(fb::CreateDepthRow(builder, builder.CreateVector(narrow)));
  }
  return rows;
}

std::vector<Table<fb::LayerCentroids>> EncodeCentroids(FlatBufferBuilder& builder,
                                                       const ContainerIndex& index) {
  std::vector<Table<fb::LayerCentroids>> layers;
  for (const Codebook& codebook : index.centroids) {
    std::vector<float> values;
    for (const auto& row : codebook.centroids) values.insert(values.end(), row.begin(), row.end());
    std::vector<uint16_t> scales;
    for (float scale : codebook.scales) scales.push_back(FloatToBFloat(scale));
    auto values_at = builder.CreateVector(values);
    auto scales_at =
        scales.empty() ? Offset<flatbuffers::Vector<uint16_t>>() : builder.CreateVector(scales);
    layers.push_back(fb::CreateLayerCentroids(builder, values_at, scales_at));
  }
  return layers;
}

Table<fb::TokenizerOptions> EncodeTokenizer(FlatBufferBuilder& builder,
                                            const ContainerIndex& index) {
  const TokenizerInfo& t = index.info.tokenizer;
  auto unicode = builder.CreateString(index.unicode);
  fb::TokenizerOptionsBuilder table(builder);
  table.add_kind(static_cast<uint8_t>(t.kind));
  table.add_lowercase(t.lowercase);
  table.add_strip_accents(t.strip_accents);
  table.add_split_chinese(t.split_chinese);
  table.add_unknown_id(t.unknown_id);
  table.add_cls_id(t.cls_id);
  table.add_sep_id(t.sep_id);
  table.add_pad_id(t.pad_id);
  table.add_unicode(unicode);
  table.add_add_prefix_space(t.add_prefix_space);
  // Other models take no more bytes than in files of 1.2.
  if (StatesInputs(index.info)) {
    table.add_max_length(t.max_length);
    table.add_cuts_begin(t.cuts_begin);
    table.add_one_type(LacksSecondType(index.info));
  }
  return table.Finish();
}

// Null if the model has none: then the field is absent. A stage is no trait of a model, and stands
// there so that readers which know none refuse it by its name.
Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> EncodeTraits(FlatBufferBuilder& builder,
                                                                      const ContainerIndex& index) {
  std::vector<std::string_view> traits = TraitsOf(index.info);
  if (index.stage) traits.push_back(kStageTrait);
  if (traits.empty()) return {};
  return builder.CreateVectorOfStrings(std::vector<std::string>(traits.begin(), traits.end()));
}

}  // namespace

std::vector<uint8_t> EncodeContainerIndex(const ContainerIndex& index) {
  FlatBufferBuilder builder(1 << 16);
  builder.ForceDefaults(true);  // the size then depends on counts alone, which lets it go in front
  auto labels = builder.CreateVectorOfStrings(index.info.labels);
  auto depths = builder.CreateVector(EncodeDepths(builder, index.info));
  auto tokenizer = EncodeTokenizer(builder, index);
  auto bits = builder.CreateVector(std::vector<uint8_t>(index.bits.begin(), index.bits.end()));
  auto centroids = builder.CreateVector(EncodeCentroids(builder, index));
  auto shards = builder.CreateVectorOfStructs(EncodeShards(index));
  auto resident = builder.CreateVectorOfStructs(EncodeResident(index));
  std::vector<fb::RowTable> tables{EncodeRows(index.words), EncodeRows(index.positions)};
  auto rows = builder.CreateVectorOfStructs(tables);
  auto traits = EncodeTraits(builder, index);
  Offset<flatbuffers::Vector<float>> mean;
  Offset<flatbuffers::Vector<float>> deviation;
  if (index.info.shape.image) {
    mean = builder.CreateVector(index.info.pixels.mean);
    deviation = builder.CreateVector(index.info.pixels.deviation);
  }
  fb::Digest128 model = EncodeDigest(index.model);
  fb::Shape shape = EncodeShape(index.info.shape);
  fb::ContainerIndexBuilder table(builder);
  table.add_model(&model);
  table.add_shape(&shape);
  table.add_data_type(static_cast<uint8_t>(index.info.data_type));
  table.add_activation(static_cast<uint8_t>(index.info.activation));
  table.add_layer_norm_eps(index.info.layer_norm_eps);
  table.add_labels(labels);
  table.add_depth_layers(depths);
  table.add_min_width(index.info.min_width);
  table.add_elastic(index.info.elastic);
  table.add_tokenizer(tokenizer);
  table.add_codebook(static_cast<uint8_t>(index.codebook));
  table.add_layout(static_cast<uint8_t>(index.layout));
  table.add_bits(bits);
  table.add_centroids(centroids);
  table.add_shard_parts(shards);
  table.add_resident_parts(resident);
  table.add_row_tables(rows);
  table.add_partial(index.partial);
  table.add_architecture(static_cast<uint8_t>(index.info.architecture));
  table.add_pooler(static_cast<uint8_t>(index.info.pooler));
  table.add_problem(static_cast<uint8_t>(index.info.problem));
  table.add_position_offset(index.info.position_offset);
  if (index.info.shape.embedding) table.add_embedding(*index.info.shape.embedding);
  if (!traits.IsNull()) table.add_traits(traits);
  if (!index.info.has_labels()) {
    table.add_head(static_cast<uint8_t>(index.info.head.output));
    table.add_pooling(static_cast<uint8_t>(index.info.head.pooling));
    table.add_unit_length(index.info.head.unit_length);
  }
  if (index.info.shape.norm_before) table.add_norm_before(true);
  if (index.info.shape.causal) table.add_causal(true);
  if (index.info.shape.image) {
    const ImageShape& image = *index.info.shape.image;
    const fb::Image stored(image.size, image.patch, image.channels);
    table.add_image(&stored);
    table.add_pixel_mean(mean);
    table.add_pixel_deviation(deviation);
  }
  if (index.stage) {
    const StageExtent& stage = *index.stage;
    const fb::Stage stored(stage.begin, stage.end, stage.ends.text, stage.ends.head);
    table.add_stage(&stored);
  }
  // Other models take no more bytes than in files of 1.1.
  if (index.info.min_depth > 1) table.add_min_depth(index.info.min_depth);
  builder.Finish(table.Finish());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace sti
