// The small files of a model folder that say what the model is: config.json, read and written, and
// the files of the tokenizer as export makes them from what a container knows.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// Reads and checks config.json. It sets all of the ModelInfo but `data_type`, and but `tokenizer`,
/// of which only `pad_id`. `embeds` is the head of a model that gives vectors, whatever classes the
/// file names, and has no labels; nothing: the class that the file names says whether the model
/// labels texts or tokens, and one that names none labels texts. ForeignError for a model that we
/// do not run, whose file is sound; DataError for what no model has, and for sizes
/// beyond these limits: 1024 layers, 256 heads, hidden 16384, FFN 65536, 2^22 tokens, 65536
/// positions, token types and labels. Pure but for reading the file.
Result<ModelInfo> ReadModelConfig(const std::string& path,
                                  const std::optional<HeadTraits>& embeds = {});

/// Returns a text of config.json that ReadModelConfig reads as the same ModelInfo.
std::string ModelConfigText(const ModelInfo& info);

/// Returns the text of tokenizer_config.json; `vocabulary` has one token a line, in id order.
std::string TokenizerConfigText(const ModelInfo& info, const std::string& vocabulary);

/// Returns the text of vocab.json, which maps tokens to ids, for such a vocabulary.
std::string VocabularyJsonText(const std::string& vocabulary);

}  // namespace sti
