// Which files of a folder say how text is read. Hugging Face's library asks the tokenizer's class:
// some classes take a whole tokenizer.json and nothing else, others take its vocabulary alone and
// have steps of their own, which settings of tokenizer_config.json change. Everything that reads a
// tokenizer asks here which file decides, so that it is known in one place;
// `spec/model-folder.md, "Tokenizer"` has the table.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "import/folder_file.h"
#include "import/tokenizer_parts.h"
#include "network/families.h"

namespace sti {

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

  /// NoSuchFileError if the folder lacks a vocabulary that the class reads: tokenizer.json, or for
  /// a class that is not generic, files `apart` from it. `names` names those for the message.
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
