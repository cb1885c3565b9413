// The files of a folder that say how text is read, and which of them decides. Hugging Face's
// library asks the tokenizer's class: some classes take a whole tokenizer.json and nothing else,
// others take its vocabulary alone and have steps of their own, which settings of
// tokenizer_config.json change. Everything that reads a tokenizer asks here which file decides, so
// that it is known in one place; `spec/model-folder.md, "Tokenizer"` has the table. Reading
// WordPiece's files and byte-level BPE's has steps in common: the text of the vocabulary, and the
// control tokens.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/folder_file.h"
#include "network/families.h"
#include "types/model_info.h"

namespace sti {

/// Holds the spellings of the control tokens. Text begins and ends with `cls` and `sep`; `mask`,
/// `begin` and `end` are for other uses of the model, which has tokens for them all the same.
struct SpecialNames {
  std::string unknown;
  std::string cls;
  std::string sep;
  std::string pad;
  std::string mask;
  std::string begin;
  std::string end;
};

/// Calls visit(line) for each line, without its end.
template <typename Visit>
void ForEachLine(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
}

/// Returns the tokens in id order, each ended by a line feed, from `vocabulary` and `added`, two
/// objects of ids by token. An id that no token has is an empty line, which no text has. DataError
/// for an id that two tokens have or that is not below `max_tokens`, and for added tokens that do
/// not follow the others; ForeignError for a token that holds a line end. `key` is for messages.
Result<std::string> VocabularyText(const ObjectReader& reader, const nlohmann::json& vocabulary,
                                   const char* key, const nlohmann::json& added,
                                   uint32_t max_tokens);

/// Returns the tokens of a vocab.txt in the same form. White space at the end of a line is no part
/// of its token. Empty lines at the end, which no text has, go where there are more than
/// `max_tokens`.
Result<std::string> ReadVocabularyLines(const std::string& path, uint32_t max_tokens);

/// Replaces a name that the object gives, as a string or as an object with `content`.
Status ReadSpecialName(const ObjectReader& reader, const char* key, std::string* name);

/// Returns the id of a token: its line in `text`, the last one that spells it.
std::optional<uint32_t> FindToken(std::string_view text, std::string_view name);

/// Returns the token of an id: line `id` of `text`, counted from 0; empty if it has none.
std::string LineOf(std::string_view text, uint32_t id);

/// Fills in the ids of the control tokens. DataError if one but the padding token is missing.
Status FindSpecialTokens(const std::string& path, std::string_view text, const SpecialNames& names,
                         TokenizerInfo* info);

/// Returns how many lines a text has.
uint64_t CountLines(std::string_view text);

/// A JSON file of the folder, as parsed.
struct JsonFile {
  std::string path;
  nlohmann::json json;

  [[nodiscard]] ObjectReader reader() const { return {path, json}; }
};

/// The files of a tokenizer that are JSON, and who of them decides. Immutable once open; views that
/// it gives live as long as it stays put.
class TokenizerSource {
 public:
  /// Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json and config.json of `dir`,
  /// each of which may be missing, and finds the class. ForeignError for one that is not read for a
  /// model of this family, before any other file is looked at, and for settings that replace
  /// files; DataError for files that are damaged.
  static Result<TokenizerSource> Open(const std::string& dir, const Family& family);

  [[nodiscard]] const std::string& dir() const { return dir_; }
  /// Returns whether the class is one that takes all of tokenizer.json, as PreTrainedTokenizerFast
  /// and TokenizersBackend. Others, those of families, take its vocabulary and merges: steps are
  /// the class's, changed by settings.
  [[nodiscard]] bool is_generic() const { return is_generic_; }
  /// Returns the name of the class, for messages, without "Fast".
  [[nodiscard]] const std::string& class_name() const { return class_name_; }

  /// Returns a NoSuchFileError if the folder lacks a vocabulary that the class reads:
  /// tokenizer.json, or for a class that is not generic, files `apart` from it. `names` names those
  /// for the message.
  [[nodiscard]] Status CheckVocabulary(bool apart, const std::string& names) const;

  /// Returns tokenizer.json; null if there is none.
  [[nodiscard]] const JsonFile* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }

  /// Returns a reader of the file that decides on a setting, in which it may be absent.
  /// special_tokens_map.json comes before tokenizer_config.json, unless this lists added tokens:
  /// then it is not read.
  [[nodiscard]] ObjectReader Deciding(const char* setting) const;

  /// Returns whether inputs say the type of each token. Where they do not, all have type 0.
  [[nodiscard]] Result<bool> GivesTypes() const;

  /// Replaces names that the files give.
  Status ReadNames(SpecialNames* names) const;

  /// Returns tokenizer_config.json, an empty object if it is missing.
  [[nodiscard]] const JsonFile& config() const { return config_; }
  /// Returns special_tokens_map.json; null if it is missing or not read.
  [[nodiscard]] const JsonFile* map() const { return map_ ? &*map_ : nullptr; }
  /// Returns whether tokenizer_config.json lists added tokens by id, so that no other file's count.
  [[nodiscard]] bool lists_added_tokens() const { return lists_added_tokens_; }

 private:
  Status FindClass(const Family& family);
  [[nodiscard]] Status CheckSettings() const;

  std::string dir_;
  bool is_generic_ = false;
  std::string class_name_;
  bool has_types_ = false;  ///< of the class, unless a setting says otherwise
  std::optional<JsonFile> tokenizer_;
  JsonFile config_;  ///< tokenizer_config.json; an empty object if it is missing
  std::optional<JsonFile> map_;
  bool lists_added_tokens_ = false;
};

}  // namespace sti
