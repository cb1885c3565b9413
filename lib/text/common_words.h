// Which words of a model texts are likely to have, where nobody counted them: a vocabulary's ids
// tell, since its makers list words by how frequent they were in the texts that they had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/vocabulary.h"

namespace sti {

/// Returns up to `most` token ids, those that are likely the most common first: the marks of
/// sentences; then words of at least two characters by ascending id, and between them the letters
/// of ASCII. Vocabularies list single characters by code point ahead of all words, so that their
/// ids say nothing. Tokens that stand for no text ("[CLS]", "<s>") are left out.
std::vector<uint32_t> CommonWords(const Vocabulary& vocabulary, size_t most);

}  // namespace sti
