#include "types/cascade.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/digest.h"

namespace sti {
namespace {

/// The greatest logit, and the sum of exp((logit - greatest) / temperature).
struct SoftmaxSum {
  double top = 0;
  double sum = 0;
};

SoftmaxSum SumOf(std::span<const float> logits, double temperature) {
  assert(!logits.empty() && temperature > 0);
  SoftmaxSum of{.top = double{*std::max_element(logits.begin(), logits.end())}, .sum = 0};
  for (const float logit : logits) of.sum += std::exp((double{logit} - of.top) / temperature);
  return of;
}

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
  return 1 / SumOf(logits, temperature).sum;
}

double GoOnProbability(double confidence, const CascadeRule& rule) {
  if (!(confidence > rule.cutoff)) return 1;
  if (!rule.slope) return 0;
  const double v = (confidence - rule.cutoff) / (1 - rule.cutoff) - 0.5;
  return 1 / (1 + std::exp(*rule.slope * v));
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

void SoftmaxAt(std::span<const float> logits, double temperature, std::span<float> probabilities) {
  const SoftmaxSum of = SumOf(logits, temperature);
  std::transform(logits.begin(), logits.end(), probabilities.begin(), [&](float logit) {
    return static_cast<float>(std::exp((double{logit} - of.top) / temperature) / of.sum);
  });
}

void Ensemble(std::span<const float> logits1, double temperature1, std::span<const float> logits2,
              double temperature2, double weight, std::span<float> probabilities) {
  const SoftmaxSum of1 = SumOf(logits1, temperature1);
  const SoftmaxSum of2 = SumOf(logits2, temperature2);
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double p1 = std::exp((double{logits1[i]} - of1.top) / temperature1) / of1.sum;
    const double p2 = std::exp((double{logits2[i]} - of2.top) / temperature2) / of2.sum;
    probabilities[i] = EnsembleOf(p1, p2, weight);
  }
}

}  // namespace sti
