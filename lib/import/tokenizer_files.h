// The tokenizer of a model folder: its vocabulary, its merges, and the settings by which texts
// become ids, as Hugging Face's library (transformers 5) reads the same files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "import/tokenizer_source.h"
#include "types/model_info.h"

namespace sti {

/// A vocabulary and how text meets it.
struct TokenizerFiles {
  std::string vocabulary_text;  ///< tokens in id order, each ended by a line feed
  std::string merges_text;      ///< in rank order, each ended by a line feed; byte-level BPE only
  TokenizerInfo info;
};

/// The model that a tokenizer is to fit.
struct TokenizedModel {
  const Family& family;
  uint32_t vocabulary = 0;  ///< ids are below it
  uint32_t pad_id = 0;      ///< used if the vocabulary lacks the padding token
};

/// Reads the tokenizer in `dir`, WordPiece or byte-level BPE as the family has it.
/// Which file decides on what says import/tokenizer_source.h. Where transformers 4 would make other
/// ids of these files than 5, those of 5 are made, and `log` gets a warning with the file and the
/// setting; so it does where the files do not look like those of one model.
///
/// kNoSuchFile for files that are missing; ForeignError for a tokenizer that we cannot follow
/// exactly, one with added tokens (import/tokenizer_files.h) too; DataError for files that are
/// damaged, or of another model: a control token is missing, an id is not below the vocabulary.
Result<TokenizerFiles> ReadTokenizer(const std::string& dir, const TokenizedModel& model,
                                     const LogSink& log = {});

/// Says warnings about a tokenizer's files.
class TokenizerNotes {
 public:
  TokenizerNotes(const TokenizerSource& source, const LogSink& log) : source_(source), log_(log) {}

  /// Says a warning about a file.
  void Warn(const std::string& path, const std::string& what) const;
  /// Says what transformers 4 reads of a file and 5 does not; nothing if `what` is empty.
  void WarnOfVersions(const std::string& path, const std::string& what) const;

 private:
  const TokenizerSource& source_;
  const LogSink& log_;
};

/// Reads the vocabulary, steps and control tokens of a WordPiece tokenizer; `names` are those of
/// its control tokens, as the files spell them.
Status ReadWordPieceFiles(const TokenizerSource& source, const TokenizedModel& model,
                          const TokenizerNotes& notes, SpecialNames* names, TokenizerFiles* files);

/// Reads those of a byte-level BPE, likewise. DataError too for a byte without a token, a merge of
/// or into what is no token, a merge that stands twice, and more merges than tokens.
Status ReadByteBpeFiles(const TokenizerSource& source, const TokenizedModel& model,
                        const TokenizerNotes& notes, SpecialNames* names, TokenizerFiles* files);

/// Checks what the files that count for the class say of added tokens: tokenizer_config.json,
/// special_tokens_map.json, added_tokens.json and tokenizer.json. Control tokens, which `names`
/// spells, may be among them: no text is searched for those, since text that spells one is text.
/// ForeignError that names the others; DataError for what is no token, and for a control token with
/// another id than its line in `vocabulary_text` has.
Status CheckAddedTokens(const TokenizerSource& source, std::string_view vocabulary_text,
                        const SpecialNames& names, const TokenizerNotes& notes);

}  // namespace sti
