#include "score/spans.h"

#include <algorithm>
#include <cstddef>

namespace sti {
namespace {

/// The probabilities of one input, [rows, labels].
struct Rows {
  std::span<const float> values;
  uint32_t labels;

  [[nodiscard]] std::span<const float> operator[](uint32_t row) const {
    return values.subspan(size_t{row} * labels, labels);
  }
};

/// The label of a word, by its tokens' probabilities.
struct WordLabel {
  uint32_t label = 0;
  float score = 0;
  ByteRange bytes;
};

uint32_t MostProbable(std::span<const float> row) {
  return static_cast<uint32_t>(std::ranges::max_element(row) - row.begin());
}

WordLabel LabelOf(std::span<const float> row) {
  const uint32_t label = MostProbable(row);
  return {.label = label, .score = row[label], .bytes = {}};
}

WordLabel LabelOfMean(const Rows& rows, std::span<const TextToken> word) {
  std::vector<float> mean(rows.labels);
  for (const TextToken& token : word) {
    const auto row = rows[token.row];
    for (uint32_t label = 0; label < rows.labels; ++label) mean[label] += row[label];
  }
  for (float& sum : mean) sum /= static_cast<float>(word.size());
  return LabelOf(mean);
}

WordLabel LabelOfMost(const Rows& rows, std::span<const TextToken> word) {
  WordLabel most = LabelOf(rows[word.front().row]);
  for (const TextToken& token : word.subspan(1)) {
    const WordLabel own = LabelOf(rows[token.row]);
    if (own.score > most.score) most = own;
  }
  return most;
}

WordLabel LabelOfTokens(Aggregation way, const Rows& rows, std::span<const TextToken> word) {
  if (way == Aggregation::kAverage) return LabelOfMean(rows, word);
  if (way == Aggregation::kMax) return LabelOfMost(rows, word);
  return LabelOf(rows[word.front().row]);
}

}  // namespace

namespace {

// Returns the labels of words, each the tokens up to the next that continues none; with kNone and
// kSimple each token is a word.
std::vector<WordLabel> LabelWords(Aggregation way, std::span<const TextToken> tokens,
                                  const Rows& rows) {
  const bool by_token = way == Aggregation::kNone || way == Aggregation::kSimple;
  std::vector<WordLabel> words;
  for (size_t begin = 0; begin < tokens.size();) {
    size_t end = begin + 1;
    while (!by_token && end < tokens.size() && tokens[end].continues_word) ++end;
    WordLabel word = LabelOfTokens(way, rows, tokens.subspan(begin, end - begin));
    word.bytes = {tokens[begin].bytes.begin, tokens[end - 1].bytes.end};
    words.push_back(word);
    begin = end;
  }
  return words;
}

}  // namespace

std::span<const TextToken> TokensOfWord(std::span<const TextToken> tokens, const ByteRange& word) {
  const auto is_before = [&](const TextToken& token) { return token.bytes.begin < word.begin; };
  const auto is_within = [&](const TextToken& token) { return token.bytes.begin < word.end; };
  const auto first = std::ranges::partition_point(tokens, is_before);
  return {first, std::partition_point(first, tokens.end(), is_within)};
}

std::optional<uint32_t> LabelOfWord(Aggregation way, std::span<const TextToken> tokens,
                                    std::span<const float> probabilities, uint32_t labels,
                                    const ByteRange& word) {
  const std::span<const TextToken> own = TokensOfWord(tokens, word);
  if (own.empty()) return std::nullopt;
  return LabelOfTokens(way, {probabilities, labels}, own).label;
}

std::vector<WordSpan> WordSpansOf(std::span<const Tag> tags) {
  std::vector<WordSpan> spans;
  for (uint32_t word = 0; word < tags.size(); ++word) {
    if (tags[word].place == TagPlace::kOutside) continue;
    if (word > 0 && GoesOn(tags[word - 1], tags[word])) {
      spans.back().end = word + 1;
    } else {
      spans.push_back({tags[word].kind, word, word + 1});
    }
  }
  return spans;
}

std::vector<std::optional<uint32_t>> LabelsOfSpans(const TagScheme& tags,
                                                   std::span<const WordSpan> spans, size_t words) {
  std::vector<std::optional<uint32_t>> labels(words, tags.FindLabel(TagPlace::kOutside, 0));
  for (const WordSpan& span : spans) {
    for (uint32_t word = span.begin; word < span.end; ++word) {
      const bool is_first = word == span.begin;
      const bool is_last = word + 1 == span.end;
      const TagPlace place = is_first && is_last ? TagPlace::kOnly
                             : is_first          ? TagPlace::kBegin
                             : is_last           ? TagPlace::kLast
                                                 : TagPlace::kInside;
      labels[word] = tags.FindLabel(place, span.kind);
    }
  }
  return labels;
}

uint32_t CountCommon(std::span<const WordSpan> a, std::span<const WordSpan> b) {
  uint32_t common = 0;
  auto next = b.begin();
  for (const WordSpan& span : a) {
    while (next != b.end() && next->begin < span.begin) ++next;
    common += next != b.end() && *next == span ? 1 : 0;
  }
  return common;
}

std::vector<LabelledSpan> SpansOf(const TagScheme& tags, Aggregation way,
                                  std::span<const TextToken> tokens,
                                  std::span<const float> probabilities) {
  const std::vector<WordLabel> words = LabelWords(way, tokens, {probabilities, tags.size()});
  std::vector<LabelledSpan> spans;
  for (size_t begin = 0; begin < words.size();) {
    const Tag& tag = tags[words[begin].label];
    size_t end = begin + 1;
    float sum = words[begin].score;
    while (way != Aggregation::kNone && end < words.size() &&
           GoesOn(tags[words[end - 1].label], tags[words[end].label])) {
      sum += words[end++].score;
    }
    if (tag.place != TagPlace::kOutside) {
      spans.push_back({.name = way == Aggregation::kNone ? words[begin].label : tag.kind,
                       .score = sum / static_cast<float>(end - begin),
                       .bytes = {words[begin].bytes.begin, words[end - 1].bytes.end}});
    }
    begin = end;
  }
  return spans;
}

}  // namespace sti
