// config.json of a model folder: what the model is.
#pragma once

#include <string>

#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// Reads and checks config.json. Everything of the answer is set but data_type and tokenizer, of
/// which only pad_id is. ForeignError for a model that we do not run, whose file is sound;
/// DataError for what no model has, and for sizes beyond these limits: 1024 layers, 256 heads,
/// hidden 16384, FFN 65536, 2^22 tokens, 65536 positions, token types and labels. Pure but for
/// reading the file.
Result<ModelInfo> ReadModelConfig(const std::string& path);

}  // namespace sti
