#include "import/model_folder.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/utf8.h"
#include "import/folder_file.h"
#include "import/model_config.h"
#include "import/preprocessor_file.h"
#include "import/sentence_folder.h"
#include "import/tokenizer_files.h"
#include "import/tokenizer_source.h"
#include "import/weight_file.h"
#include "network/families.h"
#include "network/tensors.h"
#include "types/limits.h"
#include "types/model_info.h"
#include "types/model_order.h"
#include "types/tag_scheme.h"

namespace sti {
namespace {

/// How a tensor is cut into places: `rows` times the places of one order, each of them a block of
/// elements side by side.
struct Places {
  std::span<const uint32_t> order;  ///< empty: the tensor has none
  uint64_t rows = 1;
};

Places PlacesOf(const TensorSpec& spec, const TensorView& tensor, uint32_t layer,
                const ModelOrder& order) {
  if (spec.cut == Cut::kNone) return {};
  const std::vector<uint32_t>& all = IsCutByHead(spec) ? order.heads : order.neurons;
  const size_t count = all.size() / order.depth_layers.size();
  return {std::span(all).subspan(layer * count, count), IsCutByInputs(spec) ? tensor.shape[0] : 1};
}

// Returns a layer's tensor as it is when heads and neurons stand in `order`, which fits the model:
// a copy in order, or the tensor itself where it has no place for either. Thread-safe.
TensorView SortedTensor(const TensorView& tensor, const TensorSpec& spec, uint32_t layer,
                        const ModelOrder& order) {
  const Places places = PlacesOf(spec, tensor, layer, order);
  if (places.order.empty()) return tensor;
  const size_t block = tensor.bytes.size() / (places.rows * places.order.size());
  auto sorted = std::make_shared<std::vector<uint8_t>>();
  sorted->reserve(tensor.bytes.size());
  for (uint64_t row = 0; row < places.rows; ++row) {
    for (const uint32_t from : places.order) {
      const auto part = tensor.bytes.subspan((row * places.order.size() + from) * block, block);
      sorted->insert(sorted->end(), part.begin(), part.end());
    }
  }
  ReleasePages(tensor);
  TensorView view = tensor;
  view.bytes = *sorted;
  view.mapped = false;
  view.owner = std::move(sorted);
  return view;
}

// Returns a tensor that lies beside others, or on its side, as it is by itself: of a vector its
// part, of a matrix [inputs, parts * outputs] a copy [outputs, inputs]. Thread-safe.
TensorView PartOf(const TensorView& tensor, const TensorPlace& place) {
  const size_t width = BytesOf(tensor.type);
  TensorView view = tensor;
  const uint64_t outputs = tensor.shape.back() / place.parts;
  view.shape.back() = outputs;
  if (!place.transposed) {
    view.bytes = tensor.bytes.subspan(place.part * outputs * width, outputs * width);
    return view;
  }
  const uint64_t inputs = tensor.shape.front();
  view.shape = {outputs, inputs};
  auto turned = std::make_shared<std::vector<uint8_t>>(outputs * inputs * width);
  // In tiles, so that what is written together lies near: rows of a page each would be far apart.
  constexpr uint64_t kTile = 64;
  for (uint64_t first = 0; first < inputs; first += kTile) {
    for (uint64_t out = 0; out < outputs; ++out) {
      for (uint64_t in = first; in < std::min(inputs, first + kTile); ++in) {
        const size_t from = in * tensor.shape.back() + place.part * outputs + out;
        std::memcpy(&(*turned)[(out * inputs + in) * width], &tensor.bytes[from * width], width);
      }
    }
  }
  ReleasePages(tensor);
  view.bytes = *turned;
  view.mapped = false;
  view.owner = std::move(turned);
  return view;
}

using Json = nlohmann::json;

constexpr size_t kMaxFiles = 1024;
constexpr size_t kRolesOfLayer = CountAt(Home::kShard) + CountAt(Home::kLayer);
constexpr size_t kGlobalRoles = kTensors.size() - kRolesOfLayer;

/// A format that weights come in: the file that holds them all, or the index of several.
struct WeightFormat {
  const char* file;
  const char* index;
  Result<WeightFile> (*open)(const std::string& path);
};
constexpr WeightFormat kWeightFormats[] = {
    {"/model.safetensors", "/model.safetensors.index.json", WeightFile::OpenSafetensors},
    {"/pytorch_model.bin", "/pytorch_model.bin.index.json", WeightFile::OpenTorch}};

using enum TensorRole;

std::string Spell(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

std::string_view NameOf(DataType type) {
  if (type == DataType::kF32) return "F32";
  return type == DataType::kF16 ? "F16" : "BF16";
}

/// A file name an index may give: no path, nothing hidden, nothing unprintable.
bool IsPlainName(std::string_view name) {
  if (name.empty() || name.front() == '.' || name.find("..") != std::string_view::npos) {
    return false;
  }
  for (const char character : name) {
    if (character == '/' || character == '\\' || static_cast<uint8_t>(character) < 0x20) {
      return false;
    }
  }
  return true;
}

/// Returns whether the folder holds what changes a model and not the model: what PEFT saves.
bool IsAdapterAlone(const std::string& dir) {
  if (!IsFile(dir + "/adapter_config.json")) return false;
  return std::none_of(std::begin(kWeightFormats), std::end(kWeightFormats),
                      [&](const WeightFormat& format) {
                        return IsFile(dir + format.file) || IsFile(dir + format.index);
                      });
}

/// Returns the lines of the file at `path`, which are to name `count` labels.
Result<std::vector<std::string>> ReadLabels(const std::string& path, uint32_t count) {
  STI_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxTextBytes));
  std::vector<std::string> labels;
  ForEachLine(WithoutByteOrderMark(text),
              [&](std::string_view line) { labels.emplace_back(line); });
  if (labels.size() != count) {
    return DataError(std::to_string(labels.size()) + " lines, but the model has " +
                     std::to_string(count) + " labels; name each in a line of its own")
        .At(path);
  }
  const std::string problem = ProblemOfLabels(labels);
  if (problem.empty()) return labels;
  return DataError(problem + "; give each label a name of its own").At(path);
}

/// Says which labels are not what they seem where they are shown.
void WarnOfLabels(const std::vector<std::string>& labels, const std::string& path,
                  const LogSink& log) {
  if (!log) return;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (!HasMovingText(labels[i])) continue;
    log({LogLevel::kWarning, path + ": the name of label " + std::to_string(i) +
                                 " has marks that turn or part text where it is shown; is it meant "
                                 "so?"});
  }
}

/// Returns kUsage if `parts` say what the folder says itself, or what its model does not have.
Status CheckParts(const std::string& dir, const FolderParts& parts, bool says_pooling) {
  if (parts.pooling && says_pooling) {
    return UsageError("its modules.json says how rows are pooled")
        .At(dir)
        .Fix(Remedy::kDropPooling);
  }
  if (parts.labels.empty() || !(parts.pooling || says_pooling)) return {};
  return UsageError("a model that embeds texts has no labels to be named").At(dir);
}

/// Gives a tokenizer what a sentence model says of its inputs.
Status TakeInputRules(const SentenceModel& model, const std::string& config, TokenizerInfo* info) {
  if (model.max_length) info->max_length = *model.max_length;
  if (!model.lowercases) return {};
  if (info->kind == TokenizerKind::kWordPiece) {
    info->lowercase = true;  // accents stay as the tokenizer has them
    return {};
  }
  return ForeignError("do_lower_case of a sentence model is not supported beside byte-level BPE")
      .At(config);
}

}  // namespace

Result<ModelFolder> ModelFolder::Open(const std::string& dir, const FolderParts& parts) {
  STI_RETURN_IF_ERROR(CheckFolder(dir, "a model"));
  if (IsAdapterAlone(dir)) {
    return ForeignError(
               "an adapter alone, without the model that it changes; merge it into its model and "
               "save that (in PEFT: merge_and_unload, then save_pretrained)")
        .At(dir);
  }
  STI_ASSIGN_OR_RETURN(std::optional<SentenceModel> sentences, ReadSentenceModel(dir, parts.log));
  STI_RETURN_IF_ERROR(CheckParts(dir, parts, sentences.has_value()));
  if (parts.pooling) {
    sentences.emplace().encoder = dir;
    sentences->head = {HeadOutput::kEmbedding, *parts.pooling};
  }
  ModelFolder folder(sentences ? sentences->encoder : dir);
  const std::string config = folder.dir_ + "/config.json";
  if (!IsFile(config)) {
    return MissingFile(
        config, NoSuchFileError("no config.json; give the folder of a model as published").At(dir));
  }
  std::optional<HeadTraits> embeds;
  if (sentences) embeds = sentences->head;
  STI_ASSIGN_OR_RETURN(folder.info_, ReadModelConfig(config, embeds));
  if (!parts.labels.empty()) {
    STI_ASSIGN_OR_RETURN(folder.info_.labels, ReadLabels(parts.labels, folder.info_.shape.labels));
  }
  const std::string& labels_file = parts.labels.empty() ? config : parts.labels;
  WarnOfLabels(folder.info_.labels, labels_file, parts.log);
  if (folder.info_.labels_tokens()) {
    if (auto tags = TagScheme::Of(folder.info_.labels); !tags.ok())
      return Error(tags.error()).At(labels_file);
  }
  if (folder.info_.has_text()) {
    STI_RETURN_IF_ERROR(folder.ReadTokenizerFiles(parts));
    if (sentences) STI_RETURN_IF_ERROR(TakeInputRules(*sentences, config, &folder.info_.tokenizer));
    // A limit is said only where it is one.
    uint32_t& limit = folder.info_.tokenizer.max_length;
    if (limit >= folder.info_.shape.max_positions - folder.info_.position_offset) limit = 0;
  } else {
    STI_RETURN_IF_ERROR(folder.ReadPixelScale(parts));
  }
  STI_RETURN_IF_ERROR(folder.OpenFiles());
  STI_RETURN_IF_ERROR(folder.ResolveAll());
  return folder;
}

Status ModelFolder::ReadTokenizerFiles(const FolderParts& parts) {
  const std::string& files = parts.tokenizer.empty() ? dir_ : parts.tokenizer;
  STI_RETURN_IF_ERROR(CheckFolder(files, "a tokenizer"));
  const TokenizedModel model{family(), info_.shape.vocabulary, info_.tokenizer.pad_id};
  STI_ASSIGN_OR_RETURN(auto tokenizer, ReadTokenizer(files, model, parts.log));
  const TokenizerInfo said = info_.tokenizer;
  info_.tokenizer = tokenizer.info;
  if (!family().has_frame) {
    info_.tokenizer.has_frame = false;
    info_.tokenizer.cls_id = info_.tokenizer.sep_id = info_.tokenizer.pad_id = said.sep_id;
  }
  vocabulary_text_ = std::move(tokenizer.vocabulary_text);
  merges_text_ = std::move(tokenizer.merges_text);
  return {};
}

Status ModelFolder::ReadPixelScale(const FolderParts& parts) {
  if (!parts.tokenizer.empty()) return UsageError("a model of images has no tokenizer").At(dir_);
  const std::string path = dir_ + "/preprocessor_config.json";
  if (!IsFile(path)) {
    return MissingFile(path,
                       NoSuchFileError("no preprocessor_config.json, which says how pixels "
                                       "are scaled; copy it from where the model is published")
                           .At(dir_));
  }
  STI_ASSIGN_OR_RETURN(info_.pixels, ReadPreprocessorFile(path, info_.shape.image->channels));
  return {};
}

Status ModelFolder::OpenFiles() {
  for (const WeightFormat& format : kWeightFormats) {
    if (IsFile(dir_ + format.file)) {
      STI_ASSIGN_OR_RETURN(auto file, format.open(dir_ + format.file));
      files_.push_back(std::move(file));
      return {};
    }
    if (IsFile(dir_ + format.index)) return OpenIndex(dir_ + format.index, format.open);
  }
  return MissingWeights(dir_, ClassOf(family(), info_.head.output));
}

Status ModelFolder::OpenIndex(const std::string& path,
                              Result<WeightFile> (*open)(const std::string& path)) {
  STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const ObjectReader reader(path, json);
  const Json* map = reader.Find("weight_map");
  if (map == nullptr || !map->is_object()) return reader.Bad("no weight_map; get a sound copy");
  std::map<std::string, size_t> opened;
  for (const auto& [tensor, value] : map->items()) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    if (!IsPlainName(name)) {
      return reader.Bad("weight_map of " + tensor +
                        " is not the name of a file in this folder; get a sound copy");
    }
    const auto [entry, added] = opened.emplace(name, files_.size());
    if (added) {
      if (files_.size() == kMaxFiles) return reader.Bad("more than 1024 files; merge some");
      if (!IsFile(dir_ + "/" + name)) return reader.Bad(name + " is missing; get a complete copy");
      STI_ASSIGN_OR_RETURN(auto file, open(dir_ + "/" + name));
      files_.push_back(std::move(file));
    }
    file_by_tensor_.emplace(tensor, entry->second);
  }
  return {};
}

Status ModelFolder::ResolveAll() {
  info_.data_type = DataType::kF32;
  slots_.resize(kGlobalRoles + kRolesOfLayer * info_.shape.layers);
  for (const TensorSpec& tensor : kTensors) {
    if (family().names[tensor.role].empty() || !HasTensor(tensor, info_.shape)) continue;
    const uint32_t layers = IsOfLayer(tensor) ? info_.shape.layers : 1;
    for (uint32_t layer = 0; layer < layers; ++layer) {
      STI_RETURN_IF_ERROR(Resolve(tensor, layer));
    }
  }
  if (info_.shape.token_types > 0 && !family().has_types) AddZeroTypes();
  return family().causal ? CheckTied() : Status();
}

// A head of its own would not be that of the word embeddings, which is the one that is run.
Status ModelFolder::CheckTied() const {
  const std::string name = "lm_head.weight";
  const WeightFile* file = FileOf(name);
  if (file == nullptr) return {};
  const auto head = file->Find(name);
  const TensorView& words = slots_[SlotOf(kWordEmbeddings, 0)].view;
  const bool tied = !head || (head->type == words.type && head->shape == words.shape &&
                              std::ranges::equal(head->bytes, words.bytes));
  if (head) ReleasePages(*head);
  ReleasePages(words);
  if (tied) return {};
  return ForeignError(
             "other values than the word embeddings; only a head that is tied to them is "
             "supported")
      .At(file->path() + ": tensor " + name);
}

// In the type of the norm they are stored with, so that the part keeps it; zero is exact in all.
void ModelFolder::AddZeroTypes() {
  const Slot& norm = slots_[SlotOf(kEmbeddingNormWeight, 0)];
  zero_types_.assign(uint64_t{info_.shape.embedding_width()} * BytesOf(norm.view.type), 0);
  slots_[SlotOf(kTypeEmbeddings, 0)] = {
      {norm.view.type, ShapeOf(SpecOf(kTypeEmbeddings), info_.shape), zero_types_},
      dir_ + ": token types that the model does not have"};
}

Status ModelFolder::Resolve(const TensorSpec& tensor, uint32_t layer) {
  STI_ASSIGN_OR_RETURN(Slot slot, FindTensor(tensor, layer));
  const TensorView& view = slot.view;
  const std::vector<uint64_t> expected = StoredShapeOf(tensor, info_.shape, family());
  if (view.shape != expected) {
    return DataError("shape " + Spell(view.shape) + ", expected " + Spell(expected) +
                     "; the weights do not belong to this config.json")
        .At(slot.path);
  }
  const TensorSpec& first = TensorsAt(Home::kShard).front();
  if (tensor.role == first.role && layer == 0) info_.data_type = view.type;
  if (tensor.home == Home::kShard && view.type != info_.data_type) {
    return ForeignError("type " + std::string(NameOf(view.type)) + ", but " +
                        NameOf(first.role, 0, family()) + " has " +
                        std::string(NameOf(info_.data_type)) + "; save the encoder in one type")
        .At(slot.path);
  }
  slots_[SlotOf(tensor.role, layer)] = std::move(slot);
  return {};
}

Result<ModelFolder::Slot> ModelFolder::FindTensor(const TensorSpec& tensor, uint32_t layer) const {
  for (const std::string& name : NamesOf(tensor.role, layer, family(), info_.head.output)) {
    const WeightFile* file = FileOf(name);
    if (file == nullptr) continue;
    const std::string path = file->path() + ": tensor " + name;
    if (auto view = file->Find(name)) return Slot{*std::move(view), path};
    const auto type = file->TypeName(name);
    if (!type) continue;
    return ForeignError("type " + *type +
                        "; supported are F32, F16 and BF16: load the model in one of them, with "
                        "from_pretrained(..., dtype=torch.float32), and save it")
        .At(path);
  }
  return MissingTensor(dir_, files_, NameOf(tensor.role, layer, family(), info_.head.output),
                       Spell(StoredShapeOf(tensor, info_.shape, family())),
                       tensor.home == Home::kHead && !family().causal);
}

const WeightFile* ModelFolder::FileOf(const std::string& name) const {
  if (file_by_tensor_.empty()) return files_.empty() ? nullptr : &files_.front();
  const auto found = file_by_tensor_.find(name);
  return found == file_by_tensor_.end() ? nullptr : &files_[found->second];
}

size_t ModelFolder::SlotOf(TensorRole role, uint32_t layer) {
  const auto number = static_cast<size_t>(role);
  if (!IsOfLayer(SpecOf(role))) return number - kRolesOfLayer;
  return kGlobalRoles + size_t{layer} * kRolesOfLayer + number;
}

Status ModelFolder::Sort(ModelOrder order) {
  const ModelShape& shape = info_.shape;
  if (info_.elastic) {
    return UsageError(
               "the model is elastic, so its heads and neurons are in order; leave it as it "
               "is")
        .At(dir_);
  }
  if (order.neurons.size() != size_t{shape.layers} * shape.ffn ||
      !ProblemOfOrder(order, shape.layers, shape.width).empty()) {
    return ForeignError("the order is of a model of another shape; measure this model's").At(dir_);
  }
  info_.depth_layers = order.depth_layers;
  order_ = std::move(order);
  return {};
}

TensorView ModelFolder::Tensor(TensorRole role, uint32_t layer) const {
  assert(!IsOfLayer(SpecOf(role)) || layer < info_.shape.layers);
  const TensorView& stored = slots_[SlotOf(role, layer)].view;
  const TensorPlace place = PlaceOf(role, family());
  const TensorView published =
      place.parts == 1 && !place.transposed ? stored : PartOf(stored, place);
  return order_.empty() ? published : SortedTensor(published, SpecOf(role), layer, order_);
}

std::string ModelFolder::TensorPath(TensorRole role, uint32_t layer) const {
  return slots_[SlotOf(role, layer)].path;
}

}  // namespace sti
