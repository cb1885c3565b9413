#include "text/vocabulary.h"

#include <bit>
#include <span>
#include <utility>

#include "base/digest.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr uint32_t kNoToken = 0xFFFFFFFFu;

uint64_t HashOf(std::string_view token) {
  return Checksum({reinterpret_cast<const uint8_t*>(token.data()), token.size()});
}

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

}  // namespace sti
