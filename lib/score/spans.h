// Spans are what a model that labels tokens says of a text: stretches of it, each of a kind, such
// as names of persons. They are made of the tokens' probabilities as the token-classification
// pipeline of Hugging Face's transformers makes them, whose words for the ways are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/byte_range.h"
#include "types/tag_scheme.h"

namespace sti {

/// The way in which tokens become spans. All but kNone join tokens whose tags go on (TagScheme).
/// The last three give each word one label first, so that no span ends within a word.
enum class Aggregation : uint8_t {
  kNone,     ///< each token is a span, with its own label
  kSimple,   ///< tokens are joined
  kFirst,    ///< a word has the label of its first token
  kAverage,  ///< a word has the label of the greatest mean probability over its tokens
  kMax,      ///< a word has the label of its token with the greatest probability
};

/// A stretch of a text.
struct LabelledSpan {
  uint32_t name = 0;  ///< in TagScheme::names(): of the kind, or with kNone of the label
  float score = 0;    ///< mean probability of the labels of its tokens, or words
  ByteRange bytes;
};

/// Returns the spans of a text in their order, those outside of all left out. `probabilities`
/// [rows, labels] are by token of the input, with as many labels as there are `tags`. Pure.
std::vector<LabelledSpan> SpansOf(const TagScheme& tags, Aggregation way,
                                  std::span<const TextToken> tokens,
                                  std::span<const float> probabilities);

/// Returns those of a text's tokens that begin in the word that `word` are the bytes of. Pure.
std::span<const TextToken> TokensOfWord(std::span<const TextToken> tokens, const ByteRange& word);

/// Returns the label of the word that `word` are the bytes of, by the tokens that begin in it; with
/// kNone and kSimple by the first. Nothing if it has no tokens. Arguments are as above. Pure.
std::optional<uint32_t> LabelOfWord(Aggregation way, std::span<const TextToken> tokens,
                                    std::span<const float> probabilities, uint32_t labels,
                                    const ByteRange& word);

/// A span in words of a text: of a kind, from word `begin` to before word `end`.
struct WordSpan {
  uint32_t kind = 0;  ///< in TagScheme::names()
  uint32_t begin = 0;
  uint32_t end = 0;

  friend bool operator==(const WordSpan&, const WordSpan&) = default;
};

/// Returns the spans that the tags of a text's words say, in their order: those that seqeval finds,
/// where it is not told to be strict. Pure.
std::vector<WordSpan> WordSpansOf(std::span<const Tag> tags);

/// Returns the label that a scheme has for each of `words` words, of which `spans` are in this
/// order; nothing where the scheme has no such label. WordSpansOf gives the spans back, but where
/// two of a kind stand side by side and the scheme cannot part them. Pure.
std::vector<std::optional<uint32_t>> LabelsOfSpans(const TagScheme& tags,
                                                   std::span<const WordSpan> spans, size_t words);

/// Returns how many spans both of a text's lists have, each in its order. Pure.
uint32_t CountCommon(std::span<const WordSpan> a, std::span<const WordSpan> b);

}  // namespace sti
