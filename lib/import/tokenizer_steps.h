// The steps of a tokenizer.json around its vocabulary: what is done to a text before it is split,
// where it is split, and which control tokens stand around it. Each function reads one step and
// says what about it our tokenizer cannot follow. What that means depends on the tokenizer's class
// in transformers. A class that follows the file's steps cannot be imported then. For a class whose
// steps its code fixes, the problem tells that other versions of transformers follow other steps.
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

/// The trait of a step that is not followed, as "the pre_tokenizer is Whitespace"; empty if the
/// step is followed.
using StepProblem = std::string;

/// Follows a `model` WordPiece whose pieces continue with "##" and whose words have at most 100
/// characters.
StepProblem ProblemOfWordPiece(const ObjectReader& tokenizer);
/// Follows a `normalizer` BertNormalizer, and sets `info` to its switches.
StepProblem ReadBertNormalizer(const ObjectReader& tokenizer, TokenizerInfo* info);
/// Follows a `pre_tokenizer` BertPreTokenizer.
StepProblem ProblemOfBertPreTokenizer(const ObjectReader& tokenizer);

/// Follows a `model` BPE without dropout, prefixes, suffixes and fallbacks.
StepProblem ProblemOfBpe(const ObjectReader& tokenizer);
/// Follows a `normalizer` that is absent: any other is a problem.
StepProblem ProblemOfNormalizer(const ObjectReader& tokenizer);
/// Follows a `pre_tokenizer` ByteLevel with GPT-2's pattern, and tells `info` whether a text is
/// split as if a space stood before it.
StepProblem ReadByteLevel(const ObjectReader& tokenizer, TokenizerInfo* info);

/// Follows a `post_processor` BertProcessing, RobertaProcessing, or a TemplateProcessing of the
/// same layout, alone or beside ByteLevel, which only moves offsets, and sets `layout`.
StepProblem ReadLayout(const ObjectReader& tokenizer, ControlLayout* layout);

/// Follows a `post_processor` that adds no control tokens: none, or ByteLevel.
StepProblem ProblemOfFrame(const ObjectReader& tokenizer);

/// Sets names and ids of the control tokens of a tokenizer.json: those of `layout`, and the model's
/// unknown token. `vocabulary` has one token a line, in id order. DataError for a token that is not
/// in it.
Status TakeControlTokens(const ObjectReader& tokenizer, const ControlLayout& layout,
                         std::string_view vocabulary, SpecialNames* names, TokenizerInfo* info);

/// Returns how a layout of tokenizer.json differs from `ours`, that of a class with settings;
/// `compared` says what is compared, for the message.
StepProblem ProblemOfLayout(const ObjectReader& tokenizer, const ControlLayout& ours,
                            const char* compared);

/// Returns model.vocab of a tokenizer.json; DataError if it has none.
Result<const nlohmann::json*> FindVocabulary(const ObjectReader& tokenizer);

/// Returns a ForeignError if there is a problem. `whose` names in the message the class whose steps
/// we follow.
Status RefuseStep(const ObjectReader& tokenizer, const StepProblem& problem, const char* whose);

/// Returns the side that tokenizer.json cuts texts on: true for their begin; empty if it does not
/// say.
std::optional<bool> CutsBegin(const ObjectReader& tokenizer);

}  // namespace sti
