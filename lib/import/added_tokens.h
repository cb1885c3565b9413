// Tokens that were added to a vocabulary once it was made, such as "[E1]" or "<user>". A model that
// has them was trained on texts in which its tokenizer searched for them before it split anything.
// Ours does not search, so it would split them without a word: such a tokenizer is refused.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "import/tokenizer_parts.h"

namespace sti {

/// Checks what added_tokens.json, special_tokens_map.json, tokenizer_config.json and tokenizer.json
/// in `dir` say of added tokens; each may be missing. Control tokens, which `names` spells, may be
/// among them: no text is searched for those, since text that spells one is text. ForeignError that
/// names any other token; DataError for what is no token, and for a control token with another id
/// than its line in `vocabulary_text` has.
Status CheckAddedTokens(const std::string& dir, std::string_view vocabulary_text,
                        const SpecialNames& names);

}  // namespace sti
