#include "import/tokenizer_source.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/remedy.h"
#include "network/families.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kBackend = "TokenizersBackend";
constexpr NamedTokenizer kGenericClasses[] = {{"PreTrainedTokenizer"}, {kBackend}};

const NamedTokenizer* FindGeneric(std::string_view name) {
  const auto* found = std::find_if(std::begin(kGenericClasses), std::end(kGenericClasses),
                                   [&](const NamedTokenizer& known) { return known.name == name; });
  return found == std::end(kGenericClasses) ? nullptr : found;
}

/// Returns the class of this name if its tokenizers are of the kind that `family` has; each family
/// takes those of the others of its kind.
const NamedTokenizer* FindOfKind(std::string_view name, const Family& family) {
  for (const Family* other : Families()) {
    if (other->tokenizer.name == name && other->tokenizer_kind == family.tokenizer_kind) {
      return &other->tokenizer;
    }
  }
  return nullptr;
}

/// Returns the class that a model_type has where no file names one; empty if the type is of no
/// family.
std::string_view DefaultClassOf(std::string_view model_type) {
  const Family* family = FindFamily(model_type);
  return family == nullptr ? std::string_view() : family->default_tokenizer;
}

Result<std::optional<JsonFile>> ReadIfThere(std::string path) {
  if (!IsFile(path)) return std::optional<JsonFile>();
  STI_ASSIGN_OR_RETURN(Json json, ReadJsonFile(path));
  return std::optional<JsonFile>({std::move(path), std::move(json)});
}

std::string WithoutFast(std::string name) {
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

}  // namespace

Result<TokenizerSource> TokenizerSource::Open(const std::string& dir, const Family& family) {
  TokenizerSource source;
  source.dir_ = dir;
  STI_ASSIGN_OR_RETURN(auto config, ReadIfThere(dir + "/tokenizer_config.json"));
  source.config_ =
      config ? *std::move(config) : JsonFile{dir + "/tokenizer_config.json", Json::object()};
  STI_RETURN_IF_ERROR(source.FindClass(family));
  STI_RETURN_IF_ERROR(source.CheckSettings());
  STI_ASSIGN_OR_RETURN(source.tokenizer_, ReadIfThere(dir + "/tokenizer.json"));
  source.lists_added_tokens_ = source.config_.json.contains("added_tokens_decoder");
  if (!source.lists_added_tokens_) {
    STI_ASSIGN_OR_RETURN(source.map_, ReadIfThere(dir + "/special_tokens_map.json"));
  }
  return source;
}

// tokenizer_config.json names the class, else config.json; else it is that of the model's type.
Status TokenizerSource::FindClass(const Family& family) {
  STI_ASSIGN_OR_RETURN(const auto model, ReadIfThere(dir_ + "/config.json"));
  const JsonFile* said = nullptr;
  if (config_.reader().Find("tokenizer_class") != nullptr) {
    said = &config_;
  } else if (model && model->reader().Find("tokenizer_class") != nullptr) {
    said = &*model;
  }
  std::string name;
  std::string type;
  if (said != nullptr) {
    STI_ASSIGN_OR_RETURN(name, said->reader().String("tokenizer_class", ""));
  } else {
    if (model) {
      STI_ASSIGN_OR_RETURN(type, model->reader().String("model_type", ""));
    }
    name = DefaultClassOf(type);
    if (name.empty() && type.empty()) {
      name = IsFile(dir_ + "/tokenizer.json") ? kBackend : family.default_tokenizer;
    }
  }
  class_name_ = WithoutFast(name);
  const NamedTokenizer* known = FindGeneric(class_name_);
  is_generic_ = known != nullptr;
  if (known == nullptr) known = FindOfKind(class_name_, family);
  if (known != nullptr) {
    has_types_ = known->gives_types;
    return {};
  }
  const std::string only =
      "; for this model only " + std::string(family.default_tokenizer) + " is supported";
  if (said != nullptr) {
    return said->reader().Unsupported("tokenizer_class is \"" + name + "\"" + only);
  }
  return model->reader().Unsupported("the tokenizer is that of model_type \"" + type + "\"" + only);
}

// Settings by which a file of settings replaces other files, or names further ones.
Status TokenizerSource::CheckSettings() const {
  const ObjectReader reader = config_.reader();
  for (const char* key : {"vocab", "merges", "init_inputs", "fast_tokenizer_files"}) {
    const Json* value = reader.Find(key);
    if (value == nullptr || value->empty()) continue;
    return reader.Unsupported(std::string(key) +
                              " stands for files of the tokenizer; save it again with "
                              "save_pretrained, which writes the files");
  }
  return {};
}

Status TokenizerSource::CheckVocabulary(bool apart, const std::string& names) const {
  if (tokenizer_) return {};
  if (is_generic_) {
    return NoSuchFileError("tokenizer_class is \"" + class_name_ +
                           "\", which reads tokenizer.json alone, and there is none; add it")
        .At(dir_);
  }
  if (apart) return {};
  return NoSuchFileError("neither " + names + " nor tokenizer.json")
      .At(dir_)
      .Fix(Remedy::kGiveTokenizer);
}

ObjectReader TokenizerSource::Deciding(const char* setting) const {
  return map_ && map_->json.contains(setting) ? map_->reader() : config_.reader();
}

Result<bool> TokenizerSource::GivesTypes() const {
  const ObjectReader reader = Deciding("model_input_names");
  const Json* names = reader.Find("model_input_names");
  if (names == nullptr) return has_types_;
  if (!names->is_array()) return reader.Bad("model_input_names is not a list; mend the file");
  return std::find(names->begin(), names->end(), "token_type_ids") != names->end();
}

Status TokenizerSource::ReadNames(SpecialNames* names) const {
  const std::pair<const char*, std::string*> keys[] = {
      {"unk_token", &names->unknown}, {"cls_token", &names->cls},   {"sep_token", &names->sep},
      {"mask_token", &names->mask},   {"bos_token", &names->begin}, {"eos_token", &names->end},
      {"pad_token", &names->pad}};
  for (const auto& [key, name] : keys) {
    STI_RETURN_IF_ERROR(ReadSpecialName(Deciding(key), key, name));
  }
  return {};
}

}  // namespace sti
