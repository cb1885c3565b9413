#include "import/tokenizer_files.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "import/folder_file.h"
#include "import/tokenizer_steps.h"
#include "network/families.h"
#include "types/limits.h"

namespace sti {
namespace {

using Json = nlohmann::json;

// Fewer tokens leave no room for the control tokens of a pair.
constexpr uint32_t kLeastLength = 4;
// From this length on transformers takes a limit for none.
constexpr double kNoLength = 1e20;
// Tables of embeddings have some rows to spare; so many are another vocabulary's.
constexpr uint64_t kManyIds = 128;

/// Returns the most tokens of an input, or 0 for as many as the model has positions.
Result<uint32_t> ReadMaxLength(const TokenizerSource& source) {
  const char* key = "model_max_length";
  if (!source.Deciding(key).Has(key)) key = "max_len";
  const ObjectReader reader = source.Deciding(key);
  const Json* value = reader.Find(key);
  if (value == nullptr) return 0;
  if (value->is_number() && value->get<double>() > kNoLength) return 0;
  if (!value->is_number_unsigned() || value->get<uint64_t>() < kLeastLength) {
    return reader.Bad(std::string(key) + " is not a whole number from " +
                      std::to_string(kLeastLength) + " on; mend the file");
  }
  const auto length = value->get<uint64_t>();
  return length > kMaxPositions ? 0 : static_cast<uint32_t>(length);
}

Result<bool> ReadCutsBegin(const TokenizerSource& source) {
  const ObjectReader reader = source.Deciding("truncation_side");
  STI_ASSIGN_OR_RETURN(const std::string side, reader.String("truncation_side", ""));
  if (side == "left" || side == "right") return side == "left";
  if (!side.empty()) {
    return reader.Bad("truncation_side is neither \"left\" nor \"right\"; mend the file");
  }
  const JsonFile* json = source.tokenizer();
  return json != nullptr && CutsBegin(json->reader()).value_or(false);
}

// Names of control tokens that are null leave none to begin or end a text with.
Status CheckNamed(const TokenizerSource& source) {
  if (source.is_generic()) return {};
  for (const char* key : {"unk_token", "cls_token", "sep_token"}) {
    const ObjectReader reader = source.Deciding(key);
    if (reader.Has(key) && reader.Find(key) == nullptr) {
      return reader.Unsupported(std::string(key) + " is null; name the token");
    }
  }
  return {};
}

void WarnOfSpareIds(const TokenizerFiles& files, const TokenizedModel& model,
                    const TokenizerSource& source, const TokenizerNotes& notes) {
  const uint64_t tokens = CountLines(files.vocabulary_text);
  if (tokens + kManyIds > model.vocabulary) return;
  notes.Warn(source.dir(), "the vocabulary has " + std::to_string(tokens) + " tokens, the model " +
                               std::to_string(model.vocabulary) +
                               " rows for them; is it the tokenizer of this model?");
}

}  // namespace

void TokenizerNotes::Warn(const std::string& path, const std::string& what) const {
  if (log_) log_({LogLevel::kWarning, path + ": " + what});
}

void TokenizerNotes::WarnOfVersions(const std::string& path, const std::string& what) const {
  if (what.empty()) return;
  Warn(path, what + "; for " + source_.class_name() +
                 " transformers 4 reads this and 5 does not: texts are read as 5 reads them");
}

Result<TokenizerFiles> ReadTokenizer(const std::string& dir, const TokenizedModel& model,
                                     const LogSink& log) {
  STI_ASSIGN_OR_RETURN(const TokenizerSource source, TokenizerSource::Open(dir, model.family));
  STI_RETURN_IF_ERROR(CheckNamed(source));
  const TokenizerNotes notes(source, log);
  TokenizerFiles files;
  SpecialNames names;
  files.info.pad_id = model.pad_id;
  const bool bpe = model.family.tokenizer_kind == TokenizerKind::kByteBpe;
  STI_RETURN_IF_ERROR(bpe ? ReadByteBpeFiles(source, model, notes, &names, &files)
                          : ReadWordPieceFiles(source, model, notes, &names, &files));
  STI_ASSIGN_OR_RETURN(files.info.max_length, ReadMaxLength(source));
  STI_ASSIGN_OR_RETURN(files.info.cuts_begin, ReadCutsBegin(source));
  STI_RETURN_IF_ERROR(CheckAddedTokens(source, files.vocabulary_text, names, notes));
  WarnOfSpareIds(files, model, source, notes);
  return files;
}

namespace {

using Json = nlohmann::json;

// Settings that name control tokens; others that end so name further tokens.
constexpr std::string_view kNames[] = {"unk_token",  "cls_token", "sep_token", "pad_token",
                                       "mask_token", "bos_token", "eos_token"};

/// Judges one added token after another, and gathers those that are no control tokens.
class AddedTokens {
 public:
  AddedTokens(std::string_view vocabulary_text, const SpecialNames& names) {
    for (const std::string* name : {&names.unknown, &names.cls, &names.sep, &names.pad, &names.mask,
                                    &names.begin, &names.end}) {
      control_ids_.emplace(*name, std::nullopt);
    }
    uint64_t id = 0;
    ForEachLine(vocabulary_text, [&](std::string_view line) {
      if (const auto found = control_ids_.find(line); found != control_ids_.end()) {
        found->second = id;
      }
      ++id;
    });
  }

  /// Checks the tokens of a file of settings, under any of the keys that name them.
  [[nodiscard]] Status CheckSettings(const JsonFile& file) {
    const ObjectReader reader = file.reader();
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      STI_RETURN_IF_ERROR(CheckList(reader, key));
    }
    for (const auto& [key, token] : file.json.items()) {
      const bool named = key.ends_with("_token") && (token.is_string() || token.is_object());
      if (named && std::find(std::begin(kNames), std::end(kNames), key) == std::end(kNames)) {
        STI_RETURN_IF_ERROR(CheckToken(reader, token));
      }
    }
    const Json* decoder = reader.Find("added_tokens_decoder");
    return decoder == nullptr ? Status() : CheckDecoder(reader, *decoder);
  }

  /// Checks those of tokenizer.json.
  [[nodiscard]] Status CheckTokenizer(const JsonFile& file) {
    return CheckList(file.reader(), "added_tokens");
  }

  /// Checks added_tokens.json: {"[E1]": 30522}.
  [[nodiscard]] Status CheckIds(const JsonFile& file) {
    const ObjectReader reader = file.reader();
    for (const auto& [name, id] : file.json.items()) {
      STI_RETURN_IF_ERROR(Check(reader, name, IdOf(id)));
    }
    return {};
  }

  /// Returns what is not followed: the tokens that are no control tokens; empty if there is none.
  [[nodiscard]] std::string Names() const {
    if (added_.empty()) return {};
    constexpr size_t kShown = 10;
    std::string text = added_.size() == 1 ? "token" : "tokens";
    for (size_t i = 0; i < std::min(added_.size(), kShown); ++i) {
      text += (i == 0 ? " \"" : ", \"") + added_[i] + "\"";
    }
    if (added_.size() > kShown) {
      text += " and " + std::to_string(added_.size() - kShown) + " more";
    }
    return text + (added_.size() == 1 ? " was" : " were") + " added to the vocabulary";
  }
  /// Returns the file that named the first of them.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[nodiscard]] Status CheckList(const ObjectReader& reader, const char* key) {
    const Json* list = reader.Find(key);
    if (list == nullptr) return {};
    if (!list->is_array() && !list->is_object()) {
      return reader.Bad(std::string(key) + " is no list of tokens; get a sound copy");
    }
    for (const Json& token : *list) STI_RETURN_IF_ERROR(CheckToken(reader, token));
    return {};
  }

  // {"30522": {"content": "[E1]"}}
  [[nodiscard]] Status CheckDecoder(const ObjectReader& reader, const Json& decoder) {
    if (!decoder.is_object()) {
      return reader.Bad("added_tokens_decoder is not an object; get a sound copy");
    }
    for (const auto& [key, token] : decoder.items()) {
      uint64_t id = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (error != std::errc() || end != key.data() + key.size()) {
        return reader.Bad("added_tokens_decoder has an id that is no number; get a sound copy");
      }
      STI_RETURN_IF_ERROR(CheckToken(reader, token, id));
    }
    return {};
  }

  // "[E1]", or {"content": "[E1]", "id": 30522} with an id or without
  [[nodiscard]] Status CheckToken(const ObjectReader& reader, const Json& token,
                                  std::optional<uint64_t> id = {}) {
    if (token.is_string()) return Check(reader, token.get_ref<const std::string&>(), id);
    if (!token.is_object() || !token.contains("content") || !token["content"].is_string()) {
      return reader.Bad("an added token has no content; get a sound copy");
    }
    if (!id && token.contains("id")) id = IdOf(token["id"]);
    return Check(reader, token["content"].get_ref<const std::string&>(), id);
  }

  // No id of a vocabulary is as large as what stands for one that is no number.
  static uint64_t IdOf(const Json& id) {
    return id.is_number_unsigned() ? id.get<uint64_t>() : UINT64_MAX;
  }

  [[nodiscard]] Status Check(const ObjectReader& reader, const std::string& name,
                             std::optional<uint64_t> id) {
    const auto control = control_ids_.find(name);
    if (control == control_ids_.end()) {
      if (added_.empty()) path_ = reader.path();
      if (seen_.insert(name).second) added_.push_back(name);
      return {};
    }
    if (!id || !control->second || *id == *control->second) return {};
    return reader.Bad("token \"" + name + "\" does not have its id of the vocabulary, " +
                      std::to_string(*control->second) + "; use the files of one model");
  }

  std::map<std::string, std::optional<uint64_t>, std::less<>> control_ids_;
  std::vector<std::string> added_;  ///< in the order of the files
  std::set<std::string> seen_;
  std::string path_;
};

// Looks through the files that the class reads, in its order.
Status CheckRead(const TokenizerSource& source, AddedTokens* tokens) {
  STI_RETURN_IF_ERROR(tokens->CheckSettings(source.config()));
  if (source.map() != nullptr) STI_RETURN_IF_ERROR(tokens->CheckSettings(*source.map()));
  if (const std::string path = source.dir() + "/added_tokens.json";
      !source.lists_added_tokens() && IsFile(path)) {
    STI_ASSIGN_OR_RETURN(Json json, ReadJsonFile(path));
    STI_RETURN_IF_ERROR(tokens->CheckIds({path, std::move(json)}));
  }
  const bool reads_json = !source.lists_added_tokens() || source.is_generic();
  if (source.tokenizer() == nullptr || !reads_json) return {};
  return tokens->CheckTokenizer(*source.tokenizer());
}

}  // namespace

Status CheckAddedTokens(const TokenizerSource& source, std::string_view vocabulary_text,
                        const SpecialNames& names, const TokenizerNotes& notes) {
  AddedTokens tokens(vocabulary_text, names);
  STI_RETURN_IF_ERROR(CheckRead(source, &tokens));
  if (const std::string added = tokens.Names(); !added.empty()) {
    return ForeignError(added +
                        ", and text is not searched for added tokens; use a model without them, "
                        "or take them out of its tokenizer's files if no text will have them")
        .At(tokens.path());
  }
  if (source.tokenizer() == nullptr) return {};
  // Where tokenizer_config.json lists them, only transformers 4 takes more from tokenizer.json.
  const Status others = tokens.CheckTokenizer(*source.tokenizer());
  if (others.ok()) notes.WarnOfVersions(source.tokenizer()->path, tokens.Names());
  return {};
}

}  // namespace sti
