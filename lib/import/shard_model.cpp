#include "import/shard_model.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/half.h"
#include "base/little_endian.h"
#include "base/thread_pool.h"
#include "base/utf8.h"
#include "format/container_writer.h"
#include "format/resident_codec.h"
#include "format/shard_codec.h"
#include "network/tensors.h"
#include "quant/quantize.h"
#include "shard/weight_order.h"
#include "types/bits.h"
#include "types/finite.h"
#include "types/plan_check.h"

namespace sti {
namespace {

// One part has one type: the tensors' own if they agree, else float, which holds them all exactly.
Status AddResidentTensors(ContainerWriter& writer, const ModelFolder& folder, ResidentKind kind,
                          uint32_t layer) {
  const std::vector<TensorSpec> tensors = TensorsAt(HomeOf(kind), folder.info().shape);
  DataType type = folder.Tensor(tensors.front().role, layer).type;
  for (const TensorSpec& spec : tensors) {
    TensorView tensor = folder.Tensor(spec.role, layer);
    STI_RETURN_IF_ERROR(CheckFinite(tensor, folder.TensorPath(spec.role, layer)));
    if (tensor.type != type) type = DataType::kF32;
  }
  std::vector<uint8_t> raw;
  for (const TensorSpec& spec : tensors) {
    TensorView tensor = folder.Tensor(spec.role, layer);
    if (tensor.type == type) {
      raw.insert(raw.end(), tensor.bytes.begin(), tensor.bytes.end());
      continue;
    }
    for (uint64_t i = 0; i < tensor.count(); ++i) {
      uint8_t bytes[4];
      StoreLittle<uint32_t>(bytes, std::bit_cast<uint32_t>(LoadElement(tensor, i)));
      raw.insert(raw.end(), bytes, bytes + 4);
    }
  }
  return writer.AddResident(kind, layer, type, raw);
}

Status AddRowTable(ContainerWriter& writer, const ModelFolder& folder, RowTableKind kind,
                   TensorRole role, RowCoding coding) {
  TensorView tensor = folder.Tensor(role);
  STI_RETURN_IF_ERROR(CheckFinite(tensor, folder.TensorPath(role)));
  const size_t row_bytes = size_t{folder.info().shape.embedding_width()} * BytesOf(tensor.type);
  Status status = writer.AddRows(kind, tensor.type, coding, [&](uint32_t index) {
    return tensor.bytes.subspan(index * row_bytes, row_bytes);
  });
  ReleasePages(tensor);
  return status;
}

Status AddEverythingButShards(ContainerWriter& writer, const ModelFolder& folder, RowCoding rows,
                              const StageExtent& stage) {
  if (stage.ends.text && HasEmbeddingPart(folder.info()))
    STI_RETURN_IF_ERROR(AddResidentTensors(writer, folder, ResidentKind::kEmbedding, 0));
  for (uint32_t layer = stage.begin; layer < stage.end; ++layer) {
    STI_RETURN_IF_ERROR(AddResidentTensors(writer, folder, ResidentKind::kLayer, layer));
  }
  if (stage.ends.head && HasHeadPart(folder.info()))
    STI_RETURN_IF_ERROR(AddResidentTensors(writer, folder, ResidentKind::kHead, 0));
  if (!stage.ends.text || !folder.info().has_text()) return {};
  const std::string& text = folder.vocabulary_text();
  std::span<const uint8_t> bytes = AsBytes(text);
  STI_RETURN_IF_ERROR(writer.AddResident(ResidentKind::kVocabulary, 0, DataType::kF32, bytes));
  if (folder.info().tokenizer.kind == TokenizerKind::kByteBpe) {
    const std::string& merges = folder.merges_text();
    bytes = AsBytes(merges);
    STI_RETURN_IF_ERROR(writer.AddResident(ResidentKind::kMerges, 0, DataType::kF32, bytes));
  }
  STI_RETURN_IF_ERROR(
      AddRowTable(writer, folder, RowTableKind::kWord, TensorRole::kWordEmbeddings, rows));
  return AddRowTable(writer, folder, RowTableKind::kPosition, TensorRole::kPositionEmbeddings,
                     RowCoding::kExact);  // few, and read by every input
}

// Layers are independent until they are written: `threads` of them are encoded side by side.
Status AddLayers(ContainerWriter& writer, const ModelFolder& folder, const ShardOptions& options,
                 const PartSelection& selection, const StageExtent& stage, ShardReport& report) {
  ThreadPool pool(options.threads);
  report.outliers.assign(folder.info().shape.layers, 0);
  for (uint32_t first = stage.begin; first < stage.end; first += pool.threads()) {
    uint32_t count = std::min(pool.threads(), stage.end - first);
    std::vector<std::optional<Result<EncodedLayer>>> encoded(count);
    pool.ParallelFor(count, [&](uint32_t i, uint32_t) {
      encoded[i] = EncodeLayer(folder, first + i, options.codebook, selection);
    });
    if (options.cancelled && options.cancelled()) return CancelledError();
    for (uint32_t i = 0; i < count; ++i) {
      STI_ASSIGN_OR_RETURN(EncodedLayer layer, std::move(*encoded[i]));
      STI_RETURN_IF_ERROR(writer.AddLayer(first + i, layer.codebook, layer.shards));
      report.outliers[first + i] = layer.outliers;
    }
    if (options.progress) options.progress(first - stage.begin + count, stage.end - stage.begin);
  }
  return {};
}

void DigestTensors(Digester& digester, const ModelFolder& folder, Home home, uint32_t layer = 0) {
  for (const TensorSpec& spec : TensorsAt(home, folder.info().shape)) {
    TensorView tensor = folder.Tensor(spec.role, layer);
    digester.AddNumber(static_cast<uint64_t>(tensor.type));
    digester.AddNumber(tensor.bytes.size());
    digester.Add(tensor.bytes);
    ReleasePages(tensor);
  }
}

// Adds the facts that format 1.0 could not say, unless they are those that 1.0 meant: so digests
// stay.
void DigestArchitecture(Digester& digester, const ModelFolder& folder) {
  const ModelInfo& info = folder.info();
  const uint64_t facts[] = {static_cast<uint64_t>(info.architecture),
                            static_cast<uint64_t>(info.pooler),
                            static_cast<uint64_t>(info.problem),
                            info.position_offset,
                            static_cast<uint64_t>(info.tokenizer.kind),
                            info.tokenizer.add_prefix_space ? uint64_t{1} : uint64_t{0}};
  if (std::all_of(std::begin(facts), std::end(facts), [](uint64_t fact) { return fact == 0; })) {
    return;
  }
  digester.Add(std::string_view("sti model 1.1"));
  for (const uint64_t fact : facts) digester.AddNumber(fact);
  if (info.tokenizer.kind == TokenizerKind::kByteBpe) {
    digester.Add(std::string_view(folder.merges_text()));
  }
}

}  // namespace

Digest ModelDigest(const ModelFolder& folder, CodebookKind codebook, RowCoding rows) {
  const ModelInfo& info = folder.info();
  const ModelShape& s = info.shape;
  const TokenizerInfo& t = info.tokenizer;
  Digester digester;
  digester.Add(std::string_view("sti model 1"));
  for (uint64_t number :
       {s.layers, s.width, s.hidden, s.ffn, s.vocabulary, s.max_positions, s.token_types, s.labels,
        info.min_width, t.unknown_id, t.cls_id, t.sep_id, t.pad_id}) {
    digester.AddNumber(number);
  }
  for (bool flag : {info.elastic, t.lowercase, t.strip_accents, t.split_chinese}) {
    digester.AddNumber(flag ? 1 : 0);
  }
  digester.AddNumber(static_cast<uint64_t>(info.activation));
  digester.AddNumber(std::bit_cast<uint64_t>(info.layer_norm_eps));
  digester.AddNumber(static_cast<uint64_t>(codebook));
  for (const std::string& label : info.labels) digester.Add(std::string_view(label));
  for (const auto& row : info.depth_layers) {
    for (uint32_t layer : row) digester.AddNumber(layer);
  }
  digester.Add(std::string_view(folder.vocabulary_text()));
  for (const Home home : {Home::kEmbedding, Home::kHead, Home::kRows}) {
    DigestTensors(digester, folder, home);
  }
  for (uint32_t layer = 0; layer < s.layers; ++layer) {
    DigestTensors(digester, folder, Home::kLayer, layer);
    DigestTensors(digester, folder, Home::kShard, layer);
  }
  DigestArchitecture(digester, folder);
  // Like all that came after 1.0: only where it is not what 1.0 had.
  if (rows != RowCoding::kExact) {
    digester.Add(std::string_view("rows"));
    digester.AddNumber(static_cast<uint64_t>(rows));
  }
  if (info.min_depth > 1) {
    digester.Add(std::string_view("min_depth"));
    digester.AddNumber(info.min_depth);
  }
  if (s.embedding) {
    digester.Add(std::string_view("embedding"));
    digester.AddNumber(*s.embedding);
  }
  if (s.norm_before) digester.Add(std::string_view("norm before"));
  if (s.causal) digester.Add(std::string_view("causal"));
  if (s.image) {
    digester.Add(std::string_view("image"));
    for (const uint32_t number : {s.image->size, s.image->patch, s.image->channels}) {
      digester.AddNumber(number);
    }
    for (const std::vector<float>& numbers : {info.pixels.mean, info.pixels.deviation}) {
      for (const float number : numbers) digester.AddNumber(std::bit_cast<uint32_t>(number));
    }
  }
  if (!info.has_labels()) {
    digester.Add(std::string_view("head"));
    for (const auto fact :
         {static_cast<uint64_t>(info.head.output), static_cast<uint64_t>(info.head.pooling),
          uint64_t{info.head.unit_length ? 1U : 0U}}) {
      digester.AddNumber(fact);
    }
  }
  if (StatesInputs(info)) {
    digester.Add(std::string_view("inputs"));
    for (const uint32_t number : {t.max_length, t.cuts_begin ? 1U : 0U, t.second_type}) {
      digester.AddNumber(number);
    }
  }
  return digester.Finish();
}

namespace {

Result<PartSelection> Select(const ModelFolder& folder, const ShardOptions& options,
                             const Digest& digest) {
  const ModelShape& shape = folder.info().shape;
  if (options.plans.empty()) return SelectAll(shape, options.bits);
  PlanBounds bounds;
  bounds.layers = shape.layers;
  bounds.width = shape.width;
  bounds.model = digest;
  for (size_t i = 0; i < options.plans.size(); ++i) {
    const auto fault = FindPlanFault(options.plans[i], bounds);
    if (!fault) continue;
    return Error{fault->kind, fault->what + "; give the folder and the codebook it was made from"}
        .At(fault->place)
        .At(options.plan_names[i]);
  }
  if (!options.stage) return SelectForPlans(shape, options.plans);
  return SelectForPlans(shape, std::vector<Plan>{CutStage(options.plans.front(), *options.stage)});
}

}  // namespace

bool IsOfFolder(const Digest& digest, const ModelFolder& folder) {
  for (const CodebookKind codebook :
       {CodebookKind::kScaledTree, CodebookKind::kGobo, CodebookKind::kTree}) {
    for (const RowCoding rows : {RowCoding::kExact, RowCoding::kEightBit}) {
      if (digest == ModelDigest(folder, codebook, rows)) return true;
    }
  }
  return false;
}

Result<ShardReport> ShardModel(const ModelFolder& folder, const ShardOptions& options,
                               const std::string& output) {
  ContainerIndex skeleton;
  skeleton.info = folder.info();
  skeleton.codebook = options.codebook;
  skeleton.layout = options.layout;
  skeleton.unicode = options.unicode;
  skeleton.bits = options.plans.empty() ? options.bits : BitsOfPlans(options.plans);
  skeleton.partial = !options.plans.empty();
  const Digest digest = ModelDigest(folder, options.codebook, options.rows);
  STI_ASSIGN_OR_RETURN(PartSelection selection, Select(folder, options, digest));
  if (options.stage) skeleton.stage = ExtentOfStage(options.plans.front(), *options.stage);
  STI_ASSIGN_OR_RETURN(ContainerWriter writer,
                       ContainerWriter::Create(output, skeleton, selection));
  ShardReport report;
  const StageExtent extent =
      skeleton.stage.value_or(StageExtent{0, folder.info().shape.layers, {}});
  STI_RETURN_IF_ERROR(AddEverythingButShards(writer, folder, options.rows, extent));
  STI_RETURN_IF_ERROR(AddLayers(writer, folder, options, selection, extent, report));
  STI_RETURN_IF_ERROR(writer.Finish(digest));
  report.index = writer.index();
  report.file_bytes = writer.file_bytes();
  return report;
}

namespace {

// All weights of a layer as one array, in the order that quantisation and ties are defined by.
class LayerSource {
 public:
  static Result<LayerSource> Load(const ModelFolder& folder, uint32_t layer) {
    LayerSource source;
    source.type_ = folder.info().data_type;
    source.raw_.reserve(LayerWeights(folder.info().shape) * BytesOf(source.type_));
    for (const TensorSpec& spec : TensorsAt(Home::kShard)) {
      TensorView tensor = folder.Tensor(spec.role, layer);
      STI_RETURN_IF_ERROR(CheckFinite(tensor, folder.TensorPath(spec.role, layer)));
      source.raw_.insert(source.raw_.end(), tensor.bytes.begin(), tensor.bytes.end());
      ReleasePages(tensor);
    }
    return source;
  }

  [[nodiscard]] std::vector<float> Floats() const {
    std::vector<float> floats(raw_.size() / BytesOf(type_));
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i] = LoadValue(type_, &raw_[i * BytesOf(type_)]);
    }
    return floats;
  }

  [[nodiscard]] uint32_t Raw(uint32_t flat) const {
    if (type_ == DataType::kF32) return LoadLittle<uint32_t>(&raw_[size_t{flat} * 4]);
    return LoadLittle<uint16_t>(&raw_[size_t{flat} * 2]);
  }

  [[nodiscard]] std::vector<uint8_t> Gather(const std::vector<uint32_t>& order) const {
    size_t width = BytesOf(type_);
    std::vector<uint8_t> bytes(order.size() * width);
    for (size_t i = 0; i < order.size(); ++i) {
      std::memcpy(&bytes[i * width], &raw_[order[i] * width], width);
    }
    return bytes;
  }

  [[nodiscard]] DataType type() const { return type_; }

 private:
  std::vector<uint8_t> raw_;
  DataType type_ = DataType::kF32;
};

EncodedShard EncodeShard(const LayerSource& source, const QuantizedLayer& layer,
                         const std::vector<bool>& is_outlier, const std::vector<uint32_t>& order,
                         PartSet wanted) {
  EncodedShard shard;
  if (wanted.Has(PartKind::kBase)) {
    std::vector<uint8_t> codes(order.size());
    std::vector<ShardOutlier> outliers;
    for (size_t i = 0; i < order.size(); ++i) {
      codes[i] = layer.codes[order[i]];
      if (is_outlier[order[i]])
        outliers.push_back({static_cast<uint32_t>(i), source.Raw(order[i])});
    }
    shard.parts[PartKind::kBase] = EncodeShardBase(codes, outliers, source.type());
    for (uint32_t bits = kLeastBits + 1; bits <= kMostBits; ++bits) {
      if (wanted.Has(PartAt(bits))) shard.parts[PartAt(bits)] = EncodeShardPlane(codes, bits);
    }
  }
  if (wanted.Has(PartKind::kFull)) shard.parts[PartKind::kFull] = source.Gather(order);
  return shard;
}

QuantizedLayer Quantize(std::vector<float> weights, const ModelShape& shape, CodebookKind kind) {
  if (kind != CodebookKind::kScaledTree) return QuantizeLayer(weights, kind);
  std::vector<float> scales = FitHiddenScales(weights, shape);
  DivideByHiddenScales(scales, shape, weights);
  QuantizedLayer layer = QuantizeLayer(weights, kind);
  layer.codebook.scales = std::move(scales);
  return layer;
}

}  // namespace

Result<EncodedLayer> EncodeLayer(const ModelFolder& folder, uint32_t layer, CodebookKind codebook,
                                 const PartSelection& selection) {
  STI_ASSIGN_OR_RETURN(LayerSource source, LayerSource::Load(folder, layer));
  QuantizedLayer quantized = Quantize(source.Floats(), folder.info().shape, codebook);
  std::vector<bool> is_outlier(quantized.codes.size(), false);
  for (uint32_t flat : quantized.outliers) is_outlier[flat] = true;
  EncodedLayer encoded;
  encoded.outliers = quantized.outliers.size();
  const ModelShape& shape = folder.info().shape;
  for (uint32_t slice = 0; slice < shape.width; ++slice) {
    encoded.shards.push_back(EncodeShard(source, quantized, is_outlier, WeightOrder(shape, slice),
                                         selection[size_t{layer} * shape.width + slice]));
  }
  encoded.codebook = std::move(quantized.codebook);
  return encoded;
}

}  // namespace sti
