#include "import/tokenizer_source.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/remedy.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// A class of tokenizers by its name without "Fast".
struct KnownClass {
  std::string_view name;
  TokenizerClass kind;
  bool types;  ///< whether it gives each token's type, as transformers 5 has it
};
constexpr KnownClass kClasses[] = {
    {"BertTokenizer", TokenizerClass::kBert, true},
    {"DistilBertTokenizer", TokenizerClass::kBert, false},
    {"RobertaTokenizer", TokenizerClass::kRoberta, false},
    {"PreTrainedTokenizer", TokenizerClass::kGeneric, false},
    {"TokenizersBackend", TokenizerClass::kGeneric, false},
};

/// The class that a model_type has where no file names one.
struct DefaultClass {
  std::string_view model_type;
  std::string_view name;
};
constexpr DefaultClass kDefaults[] = {
    {"bert", "BertTokenizer"}, {"distilbert", "BertTokenizer"}, {"roberta", "RobertaTokenizer"}};

constexpr std::string_view kBackend = "TokenizersBackend";

std::string_view OwnClass(Architecture architecture) {
  return architecture == Architecture::kRoberta ? "RobertaTokenizer" : "BertTokenizer";
}

const KnownClass* FindKnown(std::string_view name, Architecture architecture) {
  const auto* found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                   [&](const KnownClass& known) { return known.name == name; });
  if (found == std::end(kClasses)) return nullptr;
  const bool roberta = architecture == Architecture::kRoberta;
  const TokenizerClass other = roberta ? TokenizerClass::kBert : TokenizerClass::kRoberta;
  return found->kind == other ? nullptr : found;
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

Result<TokenizerSource> TokenizerSource::Open(const std::string& dir, Architecture architecture) {
  TokenizerSource source;
  source.dir_ = dir;
  STI_ASSIGN_OR_RETURN(auto config, ReadIfThere(dir + "/tokenizer_config.json"));
  source.config_ =
      config ? *std::move(config) : JsonFile{dir + "/tokenizer_config.json", Json::object()};
  STI_RETURN_IF_ERROR(source.FindClass(architecture));
  STI_RETURN_IF_ERROR(source.CheckSettings());
  STI_ASSIGN_OR_RETURN(source.tokenizer_, ReadIfThere(dir + "/tokenizer.json"));
  source.lists_added_tokens_ = source.config_.json.contains("added_tokens_decoder");
  if (!source.lists_added_tokens_) {
    STI_ASSIGN_OR_RETURN(source.map_, ReadIfThere(dir + "/special_tokens_map.json"));
  }
  return source;
}

// tokenizer_config.json names the class, else config.json; else it is that of the model's type.
Status TokenizerSource::FindClass(Architecture architecture) {
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
    const auto* found =
        std::find_if(std::begin(kDefaults), std::end(kDefaults),
                     [&](const DefaultClass& entry) { return entry.model_type == type; });
    if (found != std::end(kDefaults)) {
      name = found->name;
    } else if (type.empty()) {
      name = IsFile(dir_ + "/tokenizer.json") ? kBackend : OwnClass(architecture);
    }
  }
  class_name_ = WithoutFast(name);
  if (const KnownClass* known = FindKnown(class_name_, architecture)) {
    kind_ = known->kind;
    has_types_ = known->types;
    return {};
  }
  const std::string only =
      "; for this model only " + std::string(OwnClass(architecture)) + " is supported";
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
  if (kind_ == TokenizerClass::kGeneric) {
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
