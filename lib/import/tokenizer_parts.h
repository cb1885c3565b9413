// The steps that reading WordPiece's files and reading byte-level BPE's files have in common: the
// text of the vocabulary, the tokenizer's class, and the control tokens.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/folder_file.h"
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
/// objects of ids by token. DataError unless the ids count from 0 without gaps, ForeignError for a
/// token that holds a line end; `key` is for messages.
Result<std::string> VocabularyText(const ObjectReader& reader, const nlohmann::json& vocabulary,
                                   const char* key, const nlohmann::json& added);

/// Returns a ForeignError unless tokenizer_class is absent or one of `known`.
Status CheckClass(const ObjectReader& reader, std::initializer_list<std::string_view> known);

/// Replaces names that the object gives, as strings or as objects with `content`.
Status ReadSpecialNames(const ObjectReader& reader, SpecialNames* names);

/// Replaces names that special_tokens_map.json in `dir` gives, if it is there.
Status ReadSpecialMap(const std::string& dir, SpecialNames* names);

/// Fills in the ids of the control tokens; the last line of `text` that spells one counts.
/// DataError if one but the padding token is missing, or if there are more than `max_tokens` lines.
Status FindSpecialTokens(const std::string& path, std::string_view text, const SpecialNames& names,
                         uint32_t max_tokens, TokenizerInfo* info);

}  // namespace sti
