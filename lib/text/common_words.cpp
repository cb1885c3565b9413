#include "text/common_words.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace sti {
namespace {

constexpr std::array<std::string_view, 6> kMarks = {".", ",", "'", "-", "?", "!"};

bool StandsForNoText(std::string_view token) {
  if (token.size() < 3) return false;  // "<>" and "[]" are text
  return (token.front() == '[' && token.back() == ']') ||
         (token.front() == '<' && token.back() == '>');
}

// Returns whether a token of UTF-8 is more than one code point.
bool IsWord(std::string_view token) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return std::count_if(token.begin(), token.end(), begins) > 1 && !StandsForNoText(token);
}

bool IsLetter(std::string_view token) {
  if (token.size() != 1) return false;
  const char c = token.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// The ids of tokens of one kind, ascending.
class Ids {
 public:
  Ids(const Vocabulary& vocabulary, bool (*is)(std::string_view))
      : vocabulary_(vocabulary), is_(is) {}

  std::optional<uint32_t> Next() {
    while (next_ < vocabulary_.size() && !is_(vocabulary_.Token(next_))) ++next_;
    if (next_ == vocabulary_.size()) return std::nullopt;
    return next_++;
  }

 private:
  const Vocabulary& vocabulary_;
  bool (*is_)(std::string_view);
  uint32_t next_ = 0;
};

}  // namespace

std::vector<uint32_t> CommonWords(const Vocabulary& vocabulary, size_t most) {
  std::vector<uint32_t> common;
  for (const std::string_view mark : kMarks) {
    if (const auto id = vocabulary.Find(mark)) common.push_back(*id);
  }
  Ids words(vocabulary, IsWord);
  Ids letters(vocabulary, IsLetter);
  for (bool any = true; any && common.size() < most;) {
    any = false;
    for (Ids* ids : {&words, &letters}) {
      const auto id = ids->Next();
      if (id) common.push_back(*id);
      any = any || id;
    }
  }
  common.resize(std::min(common.size(), most));
  return common;
}

}  // namespace sti
