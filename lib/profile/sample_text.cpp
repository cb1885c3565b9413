#include "profile/sample_text.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

namespace sti {
namespace {

constexpr uint32_t kTries = 64;  // of tokens, for one that is a word by itself

/// Draws tokens that are words by themselves, each the same on every machine.
class Words {
 public:
  explicit Words(const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), tokens_before_(TokensOf(kBefore)) {}

  std::string Next() {
    std::string word = Draw();
    for (uint32_t i = 0; i < kTries && !IsOneToken(word); ++i) word = Draw();
    return word;
  }

 private:
  std::string Draw() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    const uint64_t id = (state_ >> 33) % tokenizer_.vocabulary().size();
    std::string word(tokenizer_.vocabulary().Token(static_cast<uint32_t>(id)));
    // Byte-level vocabularies spell the space before a word as U+0120.
    constexpr std::string_view kSpace = "\xC4\xA0";
    if (word.starts_with(kSpace)) word.erase(0, kSpace.size());
    return word;
  }

  [[nodiscard]] size_t TokensOf(const std::string& text) const {
    constexpr uint32_t kEnough = 6;  // controls, the word before and more than one token
    return tokenizer_.Encode(text, std::nullopt, kEnough).ids.size();
  }

  [[nodiscard]] bool IsOneToken(const std::string& word) const {
    return TokensOf(std::string(kBefore) + " " + word) == tokens_before_ + 1;
  }

  static constexpr const char* kBefore = "a";  // words stand in the midst of a text
  const Tokenizer& tokenizer_;
  size_t tokens_before_;
  uint64_t state_ = 1;
};

/// Returns how many different words the first `count` words of a text have.
uint32_t DifferentWords(uint32_t count) {
  constexpr double kFactor = 1.2;
  constexpr double kExponent = 0.9;
  const double different = kFactor * std::pow(static_cast<double>(count), kExponent);
  return std::min(count, static_cast<uint32_t>(different));
}

}  // namespace

std::string SampleText(const Tokenizer& tokenizer, uint32_t length) {
  Words words(tokenizer);
  std::vector<std::string> chosen;
  std::string text;
  for (uint32_t i = 0; i < length; ++i) {
    const bool is_new = i == 0 || DifferentWords(i + 1) > DifferentWords(i);
    chosen.push_back(is_new ? words.Next() : chosen[i / 2]);
    if (i > 0) text += ' ';
    text += chosen.back();
  }
  return text;
}

}  // namespace sti
