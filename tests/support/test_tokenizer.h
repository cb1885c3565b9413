// The tokenizer of tiny models (tiny_model.h).
#pragma once

#include <string>
#include <utility>

#include "text/tokenizer.h"
#include "text/vocabulary.h"
#include "tiny_model.h"

namespace sti {

inline Tokenizer TinyTokenizer() {
  std::string text;
  for (const std::string& token : TinyVocabulary()) text += token + "\n";
  auto vocabulary = Vocabulary::FromText(text);
  TokenizerInfo info;
  info.pad_id = 0;
  info.unknown_id = 1;
  info.cls_id = 2;
  info.sep_id = 3;
  return {std::move(vocabulary).value(), info};
}

}  // namespace sti
