// The steps of a tokenizer.json around its vocabulary: what is done to a text before it is split,
// where it is split, and which control tokens stand around it. Each function reads one step and
// says what about it cannot be followed. A class that takes the steps refuses what has a problem;
// for one that has steps of its own a problem is a difference between versions of the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/folder_file.h"
#include "import/tokenizer_source.h"
#include "types/model_info.h"

namespace sti {

/// Where control tokens stand around one text and around two.
struct ControlLayout {
  uint32_t cls_id = 0;
  uint32_t sep_id = 0;
  bool doubled = false;      ///< two separators between the texts of a pair, as RoBERTa has them
  uint32_t second_type = 0;  ///< token type of the second text and the separator behind it
  friend bool operator==(const ControlLayout&, const ControlLayout&) = default;
};

/// The trait of a step that is not followed, as "the pre_tokenizer is Whitespace"; empty if there
/// is none.
using StepProblem = std::string;

/// WordPiece: pieces that continue with "##", words of at most 100 characters.
StepProblem ProblemOfWordPiece(const ObjectReader& tokenizer);
/// BertNormalizer, whose switches go to `info`.
StepProblem ReadBertNormalizer(const ObjectReader& tokenizer, TokenizerInfo* info);
/// BertPreTokenizer.
StepProblem ProblemOfBertPreTokenizer(const ObjectReader& tokenizer);

/// BPE without dropout, prefixes, suffixes and fallbacks.
StepProblem ProblemOfBpe(const ObjectReader& tokenizer);
/// No normalizer.
StepProblem ProblemOfNormalizer(const ObjectReader& tokenizer);
/// ByteLevel with GPT-2's pattern; whether a text begins as after a space goes to `info`.
StepProblem ReadByteLevel(const ObjectReader& tokenizer, TokenizerInfo* info);

/// Reads BertProcessing, RobertaProcessing, or a TemplateProcessing that says as much, with
/// nothing beside it but ByteLevel, which only moves offsets.
StepProblem ReadLayout(const ObjectReader& tokenizer, ControlLayout* layout);

/// Takes the control tokens of a tokenizer.json whose layout was read: those of the layout, and the
/// model's unknown token. `text` is the vocabulary. DataError for one that it does not have.
Status TakeControlTokens(const ObjectReader& tokenizer, const ControlLayout& layout,
                         std::string_view text, SpecialNames* names, TokenizerInfo* info);

/// Returns how a layout of tokenizer.json differs from `ours`, that of a class with settings;
/// `compared` says what is compared, for the message.
StepProblem ProblemOfLayout(const ObjectReader& tokenizer, const ControlLayout& ours,
                            const char* compared);

/// Returns model.vocab of a tokenizer.json; DataError if it has none.
Result<const nlohmann::json*> FindVocabulary(const ObjectReader& tokenizer);

/// ForeignError for a step with a problem; `whose` steps are those that are followed.
Status RefuseStep(const ObjectReader& tokenizer, const StepProblem& problem, const char* whose);

/// Returns the side that tokenizer.json cuts texts on: true for their begin; empty if it does not
/// say.
std::optional<bool> CutsBegin(const ObjectReader& tokenizer);

}  // namespace sti
