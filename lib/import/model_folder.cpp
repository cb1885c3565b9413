#include "import/model_folder.h"

#include <array>
#include <cassert>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "import/folder_file.h"
#include "import/model_config.h"
#include "import/tokenizer_files.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFiles = 1024;
constexpr size_t kAllRoles = static_cast<size_t>(TensorRole::kClassifierBias) + 1;
constexpr size_t kRolesOfLayer = static_cast<size_t>(TensorRole::kWordEmbeddings);
constexpr size_t kGlobalRoles = kAllRoles - kRolesOfLayer;
constexpr std::string_view kEncoderPrefix = "bert.";

/// A dimension of a tensor, by name.
enum class Extent : uint8_t { kNone, kHidden, kFfn, kVocabulary, kPositions, kTypes, kLabels };

struct RoleInfo {
  TensorRole role;
  std::string_view name;  ///< after "bert.encoder.layer.N." or "bert."
  Extent rows;
  Extent columns = Extent::kNone;
};

using enum TensorRole;
using enum Extent;

constexpr std::array<RoleInfo, kAllRoles> kRoles = {{
    {kQueryWeight, "attention.self.query.weight", kHidden, kHidden},
    {kKeyWeight, "attention.self.key.weight", kHidden, kHidden},
    {kValueWeight, "attention.self.value.weight", kHidden, kHidden},
    {kOutputWeight, "attention.output.dense.weight", kHidden, kHidden},
    {kFfn1Weight, "intermediate.dense.weight", kFfn, kHidden},
    {kFfn2Weight, "output.dense.weight", kHidden, kFfn},
    {kQueryBias, "attention.self.query.bias", kHidden},
    {kKeyBias, "attention.self.key.bias", kHidden},
    {kValueBias, "attention.self.value.bias", kHidden},
    {kOutputBias, "attention.output.dense.bias", kHidden},
    {kFfn1Bias, "intermediate.dense.bias", kFfn},
    {kFfn2Bias, "output.dense.bias", kHidden},
    {kAttentionNormWeight, "attention.output.LayerNorm.weight", kHidden},
    {kAttentionNormBias, "attention.output.LayerNorm.bias", kHidden},
    {kOutputNormWeight, "output.LayerNorm.weight", kHidden},
    {kOutputNormBias, "output.LayerNorm.bias", kHidden},
    {kWordEmbeddings, "embeddings.word_embeddings.weight", kVocabulary, kHidden},
    {kPositionEmbeddings, "embeddings.position_embeddings.weight", kPositions, kHidden},
    {kTypeEmbeddings, "embeddings.token_type_embeddings.weight", kTypes, kHidden},
    {kEmbeddingNormWeight, "embeddings.LayerNorm.weight", kHidden},
    {kEmbeddingNormBias, "embeddings.LayerNorm.bias", kHidden},
    {kPoolerWeight, "pooler.dense.weight", kHidden, kHidden},
    {kPoolerBias, "pooler.dense.bias", kHidden},
    {kClassifierWeight, "classifier.weight", kLabels, kHidden},
    {kClassifierBias, "classifier.bias", kLabels},
}};

constexpr bool RolesAreInOrder() {
  for (size_t i = 0; i < kRoles.size(); ++i) {
    if (static_cast<size_t>(kRoles[i].role) != i) return false;
  }
  return true;
}
static_assert(RolesAreInOrder());

const RoleInfo& InfoOf(TensorRole role) { return kRoles[static_cast<size_t>(role)]; }

uint64_t SizeOf(Extent extent, const ModelShape& shape) {
  switch (extent) {
    case kHidden:
      return shape.hidden;
    case kFfn:
      return shape.ffn;
    case kVocabulary:
      return shape.vocabulary;
    case kPositions:
      return shape.max_positions;
    case kTypes:
      return shape.token_types;
    case kLabels:
      return shape.labels;
    case kNone:
      break;
  }
  return 0;
}

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

/// The names a tensor may have, the usual one first.
std::vector<std::string> Candidates(TensorRole role, uint32_t layer) {
  std::vector<std::string> names = {TensorName(role, layer)};
  std::string old = names.front();
  const size_t norm = old.find("LayerNorm.");
  if (norm != std::string::npos) {
    const std::string_view last = old.ends_with("weight") ? "gamma" : "beta";
    names.push_back(
        old.replace(norm + std::string_view("LayerNorm.").size(), std::string::npos, last));
  }
  const size_t prefixed = names.size();
  for (size_t i = 0; i < prefixed; ++i) {
    if (!names[i].starts_with(kEncoderPrefix)) continue;
    names.push_back(names[i].substr(kEncoderPrefix.size()));
  }
  return names;
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

}  // namespace

std::string TensorName(TensorRole role, uint32_t layer) {
  std::string name(InfoOf(role).name);
  if (role == kClassifierWeight || role == kClassifierBias) return name;
  if (IsLayerRole(role)) name = "encoder.layer." + std::to_string(layer) + "." + name;
  return std::string(kEncoderPrefix) + name;
}

std::vector<uint64_t> TensorShape(TensorRole role, const ModelShape& shape) {
  const RoleInfo& info = InfoOf(role);
  if (info.columns == kNone) return {SizeOf(info.rows, shape)};
  return {SizeOf(info.rows, shape), SizeOf(info.columns, shape)};
}

Result<ModelFolder> ModelFolder::Open(const std::string& dir) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(dir, ignored)) {
    return DataError(dir + ": no such folder; give the folder of a model");
  }
  const std::string config = dir + "/config.json";
  if (!IsFile(config)) {
    return DataError(dir + ": no config.json; give the folder of a model as published");
  }
  ModelFolder folder(dir);
  STI_ASSIGN_OR_RETURN(folder.info_, ReadModelConfig(config));
  const ModelShape& shape = folder.info_.shape;
  STI_ASSIGN_OR_RETURN(auto tokenizer,
                       ReadTokenizerFiles(dir, shape.vocabulary, folder.info_.tokenizer.pad_id));
  folder.info_.tokenizer = tokenizer.info;
  folder.vocabulary_text_ = std::move(tokenizer.vocabulary_text);
  STI_RETURN_IF_ERROR(folder.OpenFiles());
  STI_RETURN_IF_ERROR(folder.ResolveAll());
  return folder;
}

Status ModelFolder::OpenFiles() {
  const std::string single = dir_ + "/model.safetensors";
  const std::string index = dir_ + "/model.safetensors.index.json";
  if (!IsFile(single) && IsFile(index)) return OpenIndex(index);
  if (!IsFile(single)) {
    return DataError(dir_ + ": no model.safetensors; save the model in the safetensors format");
  }
  STI_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(single));
  files_.push_back(std::move(file));
  return {};
}

Status ModelFolder::OpenIndex(const std::string& path) {
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
      STI_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(dir_ + "/" + name));
      files_.push_back(std::move(file));
    }
    file_by_tensor_.emplace(tensor, entry->second);
  }
  return {};
}

Status ModelFolder::ResolveAll() {
  info_.data_type = DataType::kF32;
  slots_.resize(kGlobalRoles + kRolesOfLayer * info_.shape.layers);
  for (const RoleInfo& role : kRoles) {
    const uint32_t layers = IsLayerRole(role.role) ? info_.shape.layers : 1;
    for (uint32_t layer = 0; layer < layers; ++layer) {
      STI_RETURN_IF_ERROR(Resolve(role.role, layer));
    }
  }
  return {};
}

Status ModelFolder::Resolve(TensorRole role, uint32_t layer) {
  STI_ASSIGN_OR_RETURN(Slot slot, FindTensor(role, layer));
  const TensorView& view = slot.view;
  const std::vector<uint64_t> expected = TensorShape(role, info_.shape);
  if (view.shape != expected) {
    return DataError(slot.path + ": shape " + Spell(view.shape) + ", expected " + Spell(expected) +
                     "; the weights do not belong to this config.json");
  }
  if (role == kQueryWeight && layer == 0) info_.data_type = view.type;
  if (IsShardRole(role) && view.type != info_.data_type) {
    return DataError(slot.path + ": type " + std::string(NameOf(view.type)) + ", but " +
                     TensorName(kQueryWeight) + " has " + std::string(NameOf(info_.data_type)) +
                     "; save the encoder in one type");
  }
  slots_[SlotOf(role, layer)] = std::move(slot);
  return {};
}

Result<ModelFolder::Slot> ModelFolder::FindTensor(TensorRole role, uint32_t layer) const {
  for (const std::string& name : Candidates(role, layer)) {
    const SafetensorsFile* file = FileOf(name);
    if (file == nullptr) continue;
    const std::string path = file->path() + ": tensor " + name;
    if (auto view = file->Find(name)) return Slot{*std::move(view), path};
    const auto type = file->TypeName(name);
    if (!type) continue;
    return DataError(path + ": type " + *type + "; supported are F32, F16 and BF16");
  }
  return DataError(dir_ + ": tensor " + TensorName(role, layer) + " " +
                   Spell(TensorShape(role, info_.shape)) +
                   " is missing; get a complete copy of the model");
}

const SafetensorsFile* ModelFolder::FileOf(const std::string& name) const {
  if (file_by_tensor_.empty()) return files_.empty() ? nullptr : &files_.front();
  const auto found = file_by_tensor_.find(name);
  return found == file_by_tensor_.end() ? nullptr : &files_[found->second];
}

size_t ModelFolder::SlotOf(TensorRole role, uint32_t layer) {
  const auto number = static_cast<size_t>(role);
  if (!IsLayerRole(role)) return number - kRolesOfLayer;
  return kGlobalRoles + size_t{layer} * kRolesOfLayer + number;
}

const TensorView& ModelFolder::Tensor(TensorRole role, uint32_t layer) const {
  assert(!IsLayerRole(role) || layer < info_.shape.layers);
  return slots_[SlotOf(role, layer)].view;
}

std::string ModelFolder::TensorPath(TensorRole role, uint32_t layer) const {
  return slots_[SlotOf(role, layer)].path;
}

}  // namespace sti
