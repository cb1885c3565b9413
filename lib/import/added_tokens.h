// Tokens that were added to a vocabulary once it was made, such as "[E1]" or "<user>". A model that
// has them was trained on texts in which its tokenizer searched for them before it split anything.
// Ours does not search, so it would split them without a word: such a tokenizer is refused.
#pragma once

#include <string_view>

#include "base/result.h"
#include "import/tokenizer_files.h"
#include "import/tokenizer_source.h"

namespace sti {

/// Checks what the files that count for the class say of added tokens: tokenizer_config.json,
/// special_tokens_map.json, added_tokens.json and tokenizer.json. Control tokens, which `names`
/// spells, may be among them: no text is searched for those, since text that spells one is text.
/// ForeignError that names the others; DataError for what is no token, and for a control token with
/// another id than its line in `vocabulary_text` has.
Status CheckAddedTokens(const TokenizerSource& source, std::string_view vocabulary_text,
                        const SpecialNames& names, const TokenizerNotes& notes);

}  // namespace sti
