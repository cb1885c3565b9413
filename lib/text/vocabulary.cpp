#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr uint32_t kNoToken = 0xFFFFFFFFu;

uint64_t HashOf(std::string_view token) { return Checksum(AsBytes(token)); }

}  // namespace

Result<Vocabulary> Vocabulary::FromText(std::string text) {
  if (text.empty()) return DataError("no tokens").At("vocabulary");
  if (text.size() > kMaxTextBytes) {
    return DataError(std::to_string(text.size()) + " bytes, more than " +
                     std::to_string(kMaxTextBytes))
        .At("vocabulary");
  }
  text.shrink_to_fit();
  Vocabulary result;
  result.text_ = std::move(text);
  uint64_t begin = 0;
  while (begin < result.text_.size()) {
    if (result.offsets_.size() == kMaxVocabulary) {
      return DataError("more than " + std::to_string(kMaxVocabulary) + " tokens").At("vocabulary");
    }
    result.offsets_.push_back(static_cast<uint32_t>(begin));
    const size_t newline = result.text_.find('\n', begin);
    begin = newline == std::string::npos ? result.text_.size() : newline + 1;
  }
  result.offsets_.push_back(static_cast<uint32_t>(begin));
  result.offsets_.shrink_to_fit();
  result.BuildTable();
  return result;
}

uint64_t Vocabulary::SlotsFor(uint64_t tokens) { return std::bit_ceil(tokens + tokens / 2 + 1); }

uint64_t Vocabulary::BytesFor(uint64_t tokens, uint64_t text_bytes) {
  return text_bytes + (tokens + 1 + SlotsFor(tokens)) * sizeof(uint32_t);
}

void Vocabulary::BuildTable() {
  slots_.assign(SlotsFor(size()), kNoToken);
  for (uint32_t id = 0; id < size(); ++id) slots_[SlotOf(Token(id))] = id;
}

// The slot that holds `token`, or the empty slot where it would go. A third of the table at least
// is empty, so the walk ends.
uint64_t Vocabulary::SlotOf(std::string_view token) const {
  const uint64_t mask = slots_.size() - 1;
  uint64_t slot = HashOf(token) & mask;
  while (slots_[slot] != kNoToken && Token(slots_[slot]) != token) slot = (slot + 1) & mask;
  return slot;
}

std::optional<uint32_t> Vocabulary::Find(std::string_view token) const {
  const uint32_t id = slots_[SlotOf(token)];
  if (id == kNoToken) return std::nullopt;
  return id;
}

std::string_view Vocabulary::Token(uint32_t id) const {
  std::string_view line(text_.data() + offsets_[id], offsets_[id + 1] - offsets_[id]);
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

uint64_t Vocabulary::memory_bytes() const {
  return text_.capacity() + (offsets_.capacity() + slots_.capacity()) * sizeof(uint32_t);
}

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
