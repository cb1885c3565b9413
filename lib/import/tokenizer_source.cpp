#include "import/tokenizer_source.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/utf8.h"
#include "network/families.h"
#include "types/limits.h"

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
    if (other->input == FamilyInput::kTexts && other->tokenizer.name == name &&
        other->tokenizer_kind == family.tokenizer_kind && other->has_frame == family.has_frame) {
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

namespace {

using Json = nlohmann::json;

constexpr const char* kNoVocabulary = "; get a sound copy";

/// Code points of the property White_Space, from the first to the last of a range.
struct Range {
  char32_t first;
  char32_t last;
};
constexpr Range kWhiteSpace[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

bool IsSpace(char32_t code) {
  return std::any_of(std::begin(kWhiteSpace), std::end(kWhiteSpace),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

std::string_view WithoutTrailingSpace(std::string_view line) {
  while (!line.empty()) {
    size_t begin = line.size() - 1;
    while (begin > 0 && (line[begin] & 0xC0) == 0x80) --begin;
    std::string_view last = line.substr(begin);
    if (!IsSpace(TakeCodePoint(&last)) || !last.empty()) break;
    line = line.substr(0, begin);
  }
  return line;
}

/// The tokens of a JSON vocabulary by id; null where an id has none.
class TokensById {
 public:
  TokensById(const ObjectReader& reader, const char* key, uint32_t max_tokens)
      : reader_(reader), key_(key), max_tokens_(max_tokens) {}

  [[nodiscard]] Status Add(const std::string& token, const Json& id) {
    if (!id.is_number_unsigned()) return Bad("has an id that is no whole number from 0 on");
    const auto number = id.get<uint64_t>();
    if (number >= max_tokens_) {
      return reader_.Bad("id " + std::to_string(number) + ", but vocab_size is " +
                         std::to_string(max_tokens_) + "; use the vocabulary of this model");
    }
    if (token.find('\n') != std::string::npos || token.ends_with('\r')) {
      return reader_.Unsupported("token " + std::to_string(number) +
                                 " holds a line end; not supported");
    }
    if (number >= tokens_.size()) tokens_.resize(number + 1, nullptr);
    if (tokens_[number] != nullptr) {
      return Bad("gives id " + std::to_string(number) + " to two tokens");
    }
    tokens_[number] = &token;
    ++count_;
    return {};
  }

  // Ids of added tokens go on where a vocabulary without gaps ends.
  [[nodiscard]] bool has_gaps() const { return count_ < tokens_.size(); }

  [[nodiscard]] Result<std::string> Text() const {
    std::string text;
    for (const std::string* token : tokens_) {
      if (token != nullptr) text += *token;
      text += '\n';
    }
    if (text.size() <= kMaxTextBytes) return text;
    return Bad("has more than 64 MiB of tokens");
  }

  [[nodiscard]] Error Bad(const std::string& what) const {
    return reader_.Bad(std::string(key_) + " " + what + kNoVocabulary);
  }

 private:
  const ObjectReader& reader_;
  const char* key_;
  uint32_t max_tokens_;
  std::vector<const std::string*> tokens_;
  size_t count_ = 0;
};

}  // namespace

Result<std::string> VocabularyText(const ObjectReader& reader, const Json& vocabulary,
                                   const char* key, const Json& added, uint32_t max_tokens) {
  TokensById tokens(reader, key, max_tokens);
  if (!vocabulary.is_object()) return tokens.Bad("is not an object");
  for (auto item = vocabulary.begin(); item != vocabulary.end(); ++item) {
    STI_RETURN_IF_ERROR(tokens.Add(item.key(), *item));
  }
  if (added.empty()) return tokens.Text();
  const bool gaps = tokens.has_gaps();
  for (auto item = added.begin(); item != added.end(); ++item) {
    STI_RETURN_IF_ERROR(tokens.Add(item.key(), *item));
  }
  if (gaps || tokens.has_gaps()) return tokens.Bad("and added_tokens do not count without gaps");
  return tokens.Text();
}

Result<std::string> ReadVocabularyLines(const std::string& path, uint32_t max_tokens) {
  STI_ASSIGN_OR_RETURN(const std::string raw, ReadSmallFile(path, kMaxTextBytes));
  std::string text;
  text.reserve(raw.size() + 1);
  uint64_t lines = 0;
  ForEachLine(raw, [&](std::string_view line) {
    (text += WithoutTrailingSpace(line)) += '\n';
    ++lines;
  });
  for (; lines > max_tokens && text.ends_with("\n\n"); --lines) text.pop_back();
  return text;
}

Status ReadSpecialName(const ObjectReader& reader, const char* key, std::string* name) {
  const Json* value = reader.Find(key);
  if (value == nullptr) return {};
  if (value->is_object() && value->contains("content")) value = &(*value)["content"];
  if (!value->is_string()) return reader.Bad(std::string(key) + " is no token; mend the file");
  *name = value->get<std::string>();
  return {};
}

std::optional<uint32_t> FindToken(std::string_view text, std::string_view name) {
  std::optional<uint32_t> found;
  uint32_t id = 0;
  ForEachLine(text, [&](std::string_view line) {
    if (line == name) found = id;
    ++id;
  });
  return found;
}

std::string LineOf(std::string_view text, uint32_t id) {
  std::string found;
  uint32_t at = 0;
  ForEachLine(text, [&](std::string_view line) {
    if (at++ == id) found = line;
  });
  return found;
}

Status FindSpecialTokens(const std::string& path, std::string_view text, const SpecialNames& names,
                         TokenizerInfo* info) {
  const std::pair<const std::string*, uint32_t*> tokens[] = {{&names.unknown, &info->unknown_id},
                                                             {&names.cls, &info->cls_id},
                                                             {&names.sep, &info->sep_id}};
  for (const auto& [name, id] : tokens) {
    const auto found = FindToken(text, *name);
    if (!found) {
      return DataError("no token " + *name + "; use the vocabulary of this model").At(path);
    }
    *id = *found;
  }
  info->pad_id = FindToken(text, names.pad).value_or(info->pad_id);
  return {};
}

uint64_t CountLines(std::string_view text) {
  uint64_t lines = 0;
  ForEachLine(text, [&](std::string_view) { ++lines; });
  return lines;
}

}  // namespace sti
