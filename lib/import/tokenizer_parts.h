// The steps that reading WordPiece's files and reading byte-level BPE's files have in common: the
// text of the vocabulary, and the control tokens.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
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

}  // namespace sti
