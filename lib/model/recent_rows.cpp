#include "model/recent_rows.h"

#include <algorithm>

namespace sti {
namespace {

using Entry = RecentRows::Entry;

bool ByWord(const Entry& a, const Entry& b) { return a.word < b.word; }

// The word breaks ties, so that equal texts always leave equal rows.
bool LongestUnused(const Entry& a, const Entry& b) {
  return a.used != b.used ? a.used < b.used : a.word < b.word;
}

Entry* Find(std::span<Entry> entries, uint32_t word) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), Entry{word, 0, 0}, ByWord);
  return at != entries.end() && at->word == word ? &*at : nullptr;
}

}  // namespace

void RecentRows::CopyFrom(const RecentRows& other) {
  std::ranges::copy(other.kept(), entries_.begin());
  size_ = other.size_;
  texts_ = other.texts_;
}

std::optional<uint32_t> RecentRows::SlotOf(uint32_t word) const {
  const Entry* const entry = Find(kept(), word);
  return entry != nullptr ? std::optional(entry->slot) : std::nullopt;
}

void RecentRows::Shrink(size_t slots) {
  if (size_ <= slots) return;
  const auto end = std::remove_if(kept().begin(), kept().end(),
                                  [&](const Entry& entry) { return entry.slot >= slots; });
  size_ = static_cast<size_t>(end - kept().begin());
}

void RecentRows::Note(std::span<const uint32_t> used, std::span<const uint32_t> missing,
                      size_t slots, FunctionRef<void(uint32_t word, uint32_t slot)> place) {
  ++texts_;
  for (const uint32_t word : used) {
    if (Entry* const entry = Find(kept(), word)) entry->used = texts_;
  }
  slots = std::min(slots, entries_.size());
  Shrink(slots);
  missing = missing.first(std::min(missing.size(), slots));
  // Those that were unused for longest give their slots away; further slots follow the last.
  const size_t evicted = size_ + missing.size() > slots ? size_ + missing.size() - slots : 0;
  if (evicted > 0 && evicted < size_)
    std::nth_element(kept().begin(), kept().begin() + evicted, kept().end(), LongestUnused);
  for (size_t i = 0; i < missing.size(); ++i) {
    const auto slot = i < evicted ? entries_[i].slot : static_cast<uint32_t>(size_++);
    entries_[i < evicted ? i : slot] = {missing[i], slot, texts_};
    place(missing[i], slot);
  }
  std::sort(kept().begin(), kept().end(), ByWord);
}

}  // namespace sti
