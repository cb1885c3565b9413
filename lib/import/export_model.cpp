#include "import/export_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/little_endian.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "format/row_codec.h"
#include "format/shard_codec.h"
#include "import/model_config.h"
#include "import/preprocessor_file.h"
#include "import/safetensors.h"
#include "import/sentence_folder.h"
#include "kernels/decode.h"
#include "network/families.h"
#include "network/tensors.h"
#include "shard/weight_order.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr uint64_t kChunkBytes = uint64_t{4} << 20;

class Exporter {
 public:
  Exporter(ContainerFile& file, const ExportOptions& options)
      : file_(file), index_(file.index()), options_(options) {}

  Status Run(const std::string& folder) {
    STI_RETURN_IF_ERROR(WriteText(folder + "/config.json", ModelConfigText(index_.info)));
    STI_RETURN_IF_ERROR(index_.info.has_text() ? WriteTokenizer(folder) : WritePixels(folder));
    if (index_.info.embeds()) STI_RETURN_IF_ERROR(WriteModules(folder));
    STI_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                         SafetensorsWriter::Create(folder + "/model.safetensors", Plan()));
    STI_RETURN_IF_ERROR(AppendRows(writer, index_.words));
    STI_RETURN_IF_ERROR(AppendRows(writer, index_.positions));
    if (HasEmbeddingPart(index_.info))
      STI_RETURN_IF_ERROR(AppendResident(writer, ResidentKind::kEmbedding, 0));
    for (uint32_t layer = 0; layer < index_.info.shape.layers; ++layer) {
      if (options_.cancelled && options_.cancelled()) return CancelledError();
      STI_RETURN_IF_ERROR(AppendMatrices(writer, layer));
      STI_RETURN_IF_ERROR(AppendResident(writer, ResidentKind::kLayer, layer));
      if (options_.progress) options_.progress(layer + 1, index_.info.shape.layers);
    }
    if (HasHeadPart(index_.info))
      STI_RETURN_IF_ERROR(AppendResident(writer, ResidentKind::kHead, 0));
    return writer.Finish();
  }

 private:
  // Writes what sentence-transformers reads beside the encoder's own files.
  Status WriteModules(const std::string& folder) const {
    for (const SentenceFile& file : SentenceFilesOf(index_.info)) {
      const std::filesystem::path path = folder + "/" + file.name;
      std::error_code failed;
      std::filesystem::create_directories(path.parent_path(), failed);
      STI_RETURN_IF_ERROR(WriteText(path.string(), file.text));
    }
    return {};
  }

  Status WritePixels(const std::string& folder) const {
    return WriteText(folder + "/preprocessor_config.json",
                     PreprocessorFileText(index_.info.pixels, index_.info.shape.image->size));
  }

  Status WriteTokenizer(const std::string& folder) {
    STI_ASSIGN_OR_RETURN(const std::string vocabulary, file_.ReadText(ResidentKind::kVocabulary));
    STI_RETURN_IF_ERROR(WriteTokens(folder, vocabulary));
    return WriteText(folder + "/tokenizer_config.json",
                     TokenizerConfigText(index_.info, vocabulary));
  }

  Status WriteTokens(const std::string& folder, const std::string& vocabulary) {
    if (index_.info.tokenizer.kind == TokenizerKind::kWordPiece) {
      return WriteText(folder + "/vocab.txt", vocabulary);
    }
    STI_RETURN_IF_ERROR(WriteText(folder + "/vocab.json", VocabularyJsonText(vocabulary)));
    STI_ASSIGN_OR_RETURN(const std::string merges, file_.ReadText(ResidentKind::kMerges));
    return WriteText(folder + "/merges.txt", "#version: 0.2\n" + merges);
  }

  static Status WriteText(const std::string& path, const std::string& text) {
    return WriteFileAtomically(path, AsBytes(text));
  }

  // All tensors in the order that Run appends them.
  [[nodiscard]] std::vector<TensorPlan> Plan() const {
    std::vector<TensorPlan> tensors;
    const Family& family = FamilyOf(index_.info);
    auto add = [&](TensorRole role, DataType type, uint32_t layer) {
      std::string name = NameOf(role, layer, family, index_.info.head.output);
      if (name.empty() || PlaceOf(role, family).part > 0) return;
      tensors.push_back(
          {std::move(name), type, StoredShapeOf(SpecOf(role), index_.info.shape, family)});
    };
    auto add_all = [&](Home home, DataType type, uint32_t layer) {
      for (const TensorSpec& tensor : TensorsAt(home, index_.info.shape)) {
        add(tensor.role, type, layer);
      }
    };
    const auto type_of = [&](ResidentKind kind, uint32_t layer) {
      return index_.Resident(kind, layer).type;
    };
    add(TensorRole::kWordEmbeddings, TypeOf(index_.words), 0);
    add(TensorRole::kPositionEmbeddings, TypeOf(index_.positions), 0);
    if (HasEmbeddingPart(index_.info))
      add_all(Home::kEmbedding, type_of(ResidentKind::kEmbedding, 0), 0);
    for (uint32_t layer = 0; layer < index_.info.shape.layers; ++layer) {
      add_all(Home::kShard, MatrixType(), layer);
      add_all(Home::kLayer, type_of(ResidentKind::kLayer, layer), layer);
    }
    if (HasHeadPart(index_.info)) add_all(Home::kHead, type_of(ResidentKind::kHead, 0), 0);
    return tensors;
  }

  // Coded rows have no value in the source's type.
  static DataType TypeOf(const RowTable& table) {
    return table.coding == RowCoding::kExact ? table.type : DataType::kF32;
  }

  [[nodiscard]] DataType MatrixType() const {
    return options_.bits == kFullBits ? index_.info.data_type : DataType::kF32;
  }

  // A part's tensors lie one behind the other in both files.
  Status AppendResident(SafetensorsWriter& writer, ResidentKind kind, uint32_t layer) {
    // The row of token types of a family without them came with the import, not with the source.
    const TensorNames& names = FamilyOf(index_.info).names;
    return file_.VisitTensors(
        kind, layer, [&](TensorRole role, uint64_t, std::span<const uint8_t> values) -> Status {
          return names[role].empty() ? Status() : writer.Append(values);
        });
  }

  Status AppendRows(SafetensorsWriter& writer, const RowTable& table) {
    std::vector<uint8_t> values;
    const auto append = [&](std::span<const uint8_t> row, const Status& checked) -> Status {
      if (!checked.ok()) return checked;
      AppendRow(table, row, values);
      if (values.size() < kChunkBytes) return {};
      Status written = writer.Append(values);
      values.clear();
      return written;
    };
    STI_RETURN_IF_ERROR(file_.ForEachRow(table, append));
    return writer.Append(values);
  }

  static void AppendRow(const RowTable& table, std::span<const uint8_t> row,
                        std::vector<uint8_t>& values) {
    if (table.coding == RowCoding::kExact) {
      values.insert(values.end(), row.begin(), row.end() - kRowChecksumBytes);
      return;
    }
    std::vector<float> decoded(table.columns, 0.0F);
    AddRow(table, row, decoded.data());
    AppendFloats(decoded, values);
  }

  static void AppendFloats(std::span<const float> floats, std::vector<uint8_t>& bytes) {
    size_t at = bytes.size();
    bytes.resize(at + floats.size() * sizeof(float));
    for (const float value : floats) {
      StoreLittle<uint32_t>(&bytes[at], std::bit_cast<uint32_t>(value));
      at += sizeof(float);
    }
  }

  // Each weight from its place in a shard to its place in the layer.
  Status AppendMatrices(SafetensorsWriter& writer, uint32_t layer) {
    const ModelShape& shape = index_.info.shape;
    const uint32_t width = BytesOf(MatrixType());
    std::vector<uint8_t> matrices(LayerWeights(shape) * width);
    for (uint32_t slice = 0; slice < shape.width; ++slice) {
      STI_ASSIGN_OR_RETURN(std::vector<uint8_t> weights, ReadShard(layer, slice));
      const std::vector<uint32_t> order = WeightOrder(shape, slice);
      for (size_t i = 0; i < order.size(); ++i) {
        std::memcpy(&matrices[size_t{order[i]} * width], &weights[i * width], width);
      }
    }
    return writer.Append(FamilyOf(index_.info).transposed ? Turned(matrices) : matrices);
  }

  // The matrices of a layer as a family has them that has them on their sides (PlaceOf).
  [[nodiscard]] std::vector<uint8_t> Turned(const std::vector<uint8_t>& matrices) const {
    const uint32_t width = BytesOf(MatrixType());
    std::vector<uint8_t> turned(matrices.size());
    size_t begin = 0;  // of the tensor of the file
    size_t from = 0;
    for (const TensorSpec& spec : TensorsAt(Home::kShard, index_.info.shape)) {
      const TensorSize size = SizeOf(spec, index_.info.shape);
      const TensorPlace place = PlaceOf(spec.role, FamilyOf(index_.info));
      for (uint64_t out = 0; out < size.rows; ++out) {
        for (uint64_t in = 0; in < size.columns; ++in, ++from) {
          const size_t to = begin + in * place.parts * size.rows + place.part * size.rows + out;
          std::memcpy(&turned[to * width], &matrices[from * width], width);
        }
      }
      if (place.part + 1 == place.parts) begin = from;
    }
    return turned;
  }

  // The weights of a shard in weight order, in MatrixType.
  Result<std::vector<uint8_t>> ReadShard(uint32_t layer, uint32_t slice) {
    const ShardLocation& shard = index_.shard({layer, slice});
    PerPart<LoadedRange> loaded;
    PerPart<std::span<const uint8_t>> bytes;
    for (const PartKind part : kPartKinds) {
      if (!PartSet::For(options_.bits).Has(part)) continue;
      STI_ASSIGN_OR_RETURN(loaded[part],
                           file_.ReadPart(shard.parts[part], ShardPartName({layer, slice}, part)));
      bytes[part] = loaded[part].Bytes(shard.parts[part]);
    }
    if (options_.bits == kFullBits) {
      auto full = bytes[PartKind::kFull];
      return std::vector<uint8_t>(full.begin(), full.end());
    }
    STI_ASSIGN_OR_RETURN(
        ShardView view,
        ViewShard(index_.info, index_.centroids[layer], options_.bits, bytes,
                  file_.name() + ": " + ShardPartName({layer, slice}, PartKind::kBase)));
    std::vector<uint8_t> stored;
    AppendFloats(DecodeShard(view, index_.info.shape), stored);
    return stored;
  }

  ContainerFile& file_;
  const ContainerIndex& index_;
  const ExportOptions& options_;
};

}  // namespace

Status ExportModel(ContainerFile& file, const ExportOptions& options, const std::string& dir) {
  STI_RETURN_IF_ERROR(file.RequireWhole());
  if (!file.index().Offers(options.bits)) {
    return InfeasibleError("does not offer " + std::to_string(options.bits) + " bits")
        .At(file.name())
        .Fix(Remedy::kStoreTheseBits);
  }
  STI_ASSIGN_OR_RETURN(AtomicFolder folder, AtomicFolder::Create(dir));
  STI_RETURN_IF_ERROR(Exporter(file, options).Run(folder.temporary()));
  return folder.Commit();
}

}  // namespace sti
