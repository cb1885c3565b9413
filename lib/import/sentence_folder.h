// The files that sentence-transformers writes beside an encoder's own: which modules a model
// consists of, how rows are pooled, and how long a text may be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "types/model_info.h"

namespace sti {

/// Holds what a folder of a sentence model says beside its encoder.
struct SentenceModel {
  HeadTraits head;
  std::string encoder;                 ///< the folder that the encoder's own files lie in
  std::optional<uint32_t> max_length;  ///< most tokens of an input; nothing: as the tokenizer says
  bool lowercases = false;             ///< texts are lower-cased whatever the tokenizer does
};

/// Returns what modules.json of a folder and the files that it names say; nothing if the folder has
/// none. `log` is warned of prompts that the model wants before its texts. ForeignError for modules
/// and poolings that are not computed here; DataError for files that are damaged.
Result<std::optional<SentenceModel>> ReadSentenceModel(const std::string& dir, const LogSink& log);

/// A file of such a folder: its name within it, and its text.
struct SentenceFile {
  std::string name;
  std::string text;
};

/// Returns the files that ReadSentenceModel reads back to what `info`, of a model that embeds,
/// says.
std::vector<SentenceFile> SentenceFilesOf(const ModelInfo& info);

}  // namespace sti
