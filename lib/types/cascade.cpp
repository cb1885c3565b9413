#include "types/cascade.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/digest.h"
#include "types/score.h"

namespace sti {
namespace {

/// A number from 0 to 1, 1 excluded, that hangs on ids and seed alone.
double DrawnBy(std::span<const uint32_t> ids, uint64_t seed) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(ids.data());
  constexpr int kMantissaBits = 53;
  return std::ldexp(static_cast<double>(Checksum({bytes, ids.size_bytes()}, seed) >> 11),
                    -kMantissaBits);
}

/// Keeps all tokens of the word at `at`, which stand together.
void KeepWord(std::span<const uint32_t> words, size_t at, std::vector<bool>& kept) {
  for (size_t i = at; i < words.size() && words[i] == words[at]; ++i) kept[i] = true;
  for (size_t i = at; i > 0 && words[i - 1] == words[at]; --i) kept[i - 1] = true;
}

}  // namespace

double Confidence(std::span<const float> logits, double temperature) {
  return 1 / SoftmaxSumOf(logits, temperature).sum;
}

double GoOnProbability(double confidence, const CascadeRule& rule) {
  if (!(confidence > rule.cutoff)) return 1;
  if (!rule.slope) return 0;
  const double v = (confidence - rule.cutoff) / (1 - rule.cutoff) - 0.5;
  return Sigmoid(-(*rule.slope * v));
}

bool GoesOn(double confidence, const CascadeRule& rule, std::span<const uint32_t> ids,
            uint64_t seed) {
  const double probability = GoOnProbability(confidence, rule);
  if (probability >= 1 || probability <= 0) return probability >= 1;
  return DrawnBy(ids, seed) < probability;
}

std::vector<bool> KeptTokens(std::span<const float> attention, std::span<const uint32_t> words,
                             double alpha) {
  const size_t tokens = attention.size();
  double sum = 0;
  for (const float received : attention) sum += double{received};
  if (alpha <= 0 || words.size() != tokens || !std::isfinite(sum))
    return std::vector<bool>(tokens, true);
  const double least = alpha * sum / static_cast<double>(tokens);
  std::vector<bool> kept(tokens, false);
  for (size_t i = 0; i < tokens; ++i) {
    if (words[i] == kNoWord) {
      kept[i] = true;
    } else if (double{attention[i]} > least) {
      KeepWord(words, i, kept);
    }
  }
  for (size_t begin = 0; begin < tokens;) {
    size_t end = begin;
    while (end < tokens && words[end] != kNoWord) ++end;
    const auto first = kept.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = kept.begin() + static_cast<std::ptrdiff_t>(end);
    if (end > begin && std::find(first, last, true) == last) {
      const auto of_sentence = attention.subspan(begin, end - begin);
      const auto most = std::max_element(of_sentence.begin(), of_sentence.end());
      KeepWord(words, begin + static_cast<size_t>(most - of_sentence.begin()), kept);
    }
    begin = end + 1;
  }
  return kept;
}

std::vector<uint32_t> Kept(std::span<const uint32_t> entries, const std::vector<bool>& kept) {
  std::vector<uint32_t> picked;
  picked.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    if (kept[i]) picked.push_back(entries[i]);
  }
  return picked;
}

uint32_t WordsLeftOut(std::span<const uint32_t> words, const std::vector<bool>& kept) {
  uint32_t left_out = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool begins = words[i] != kNoWord && (i == 0 || words[i - 1] != words[i]);
    left_out += begins && !kept[i] ? 1 : 0;
  }
  return left_out;
}

void Ensemble(std::span<const float> logits1, double temperature1, std::span<const float> logits2,
              double temperature2, double weight, std::span<float> probabilities) {
  const SoftmaxSum of1 = SoftmaxSumOf(logits1, temperature1);
  const SoftmaxSum of2 = SoftmaxSumOf(logits2, temperature2);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] =
        EnsembleOf(ProbabilityOf(logits1[i], of1), ProbabilityOf(logits2[i], of2), weight);
  }
}

}  // namespace sti
