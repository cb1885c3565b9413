// The small files of a model folder, made from what a container knows.
#pragma once

#include <string>

#include "types/model_info.h"

namespace sti {

/// The text of config.json: what ReadModelConfig reads back to the same ModelInfo.
std::string ModelConfigText(const ModelInfo& info);

/// The text of tokenizer_config.json; `vocabulary` has one token a line, in id order.
std::string TokenizerConfigText(const ModelInfo& info, const std::string& vocabulary);

/// The text of vocab.json, ids by token, from one token a line.
std::string VocabularyJsonText(const std::string& vocabulary);

}  // namespace sti
