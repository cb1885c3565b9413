#include "base/half.h"
#include "container_generated.h"
#include "format/container_index.h"
#include "network/families.h"
#include "network/traits.h"

namespace sti {
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

// Null if the model has none: then the field is absent.
Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> EncodeTraits(FlatBufferBuilder& builder,
                                                                      const ModelInfo& info) {
  const std::vector<std::string_view> traits = TraitsOf(info);
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
  auto traits = EncodeTraits(builder, index.info);
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
  // Other models take no more bytes than in files of 1.1.
  if (index.info.min_depth > 1) table.add_min_depth(index.info.min_depth);
  builder.Finish(table.Finish());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace sti
