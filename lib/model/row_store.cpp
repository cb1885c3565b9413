#include "model/row_store.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/checked.h"

namespace sti {

uint64_t RowStore::RoomFor(const ContainerIndex& index, uint32_t tokens, uint32_t positions) {
  // The rows of positions may begin anywhere in a block.
  const uint64_t rows = index.info.position_rows(std::max(tokens, positions));
  const uint64_t bytes = RoundUp(rows * index.positions.row_bytes, kBlockBytes);
  return MaxWordBlockBytes(index, tokens) + bytes + kBlockBytes;
}

void RowStore::Reserve(uint32_t tokens, uint32_t positions, bool touch) {
  positions = std::max(positions, tokens);
  if (tokens == tokens_ && positions == most_positions_) return;
  Release();  // where memory runs out below, nothing is there
  memory_.Renew(RoomFor(index_, tokens, positions));
  if (touch) std::fill_n(memory_.data(), memory_.size(), uint8_t{0});
  words_place_ = PositionBlockBytes(index_, positions);
  words_.reserve(tokens);
  others_.reserve(tokens);
  reads_.words.reserve(tokens);
  reads_.ranges.reserve(tokens + 1);
  const uint64_t room = memory_.size() - words_place_;
  const uint64_t slots = keeps_ ? room / (index_.words.row_bytes + sizeof(RecentRows::Entry)) : 0;
  slots_end_ = memory_.size() - slots * sizeof(RecentRows::Entry);
  auto* const entries = new (memory_.data() + slots_end_) RecentRows::Entry[slots];
  recent_ = RecentRows({entries, slots});
  tokens_ = tokens;
  most_positions_ = positions;
}

void RowStore::Forget() {
  recent_.Shrink(0);
  positions_ = 0;
}

void RowStore::Release() {
  recent_ = {};
  positions_ = 0;
  tokens_ = most_positions_ = 0;
  memory_ = AlignedBuffer();
}

void RowStore::VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) {
  visit(memory_);
  visit(preloaded_rows_);
}

void RowStore::Preload(std::span<const uint32_t> words) {
  if (!keeps_) words = {};
  if (std::ranges::equal(words, preloaded_)) return;
  const size_t row_bytes = index_.words.row_bytes;
  AlignedBuffer rows(words.size() * row_bytes);
  std::vector<bool> has(words.size(), false);
  for (size_t i = 0; i < words.size(); ++i) {
    const auto at = PreloadedAt(words[i]);
    has[i] = at && has_preloaded_[*at];
    if (has[i])
      std::memcpy(rows.data() + i * row_bytes, preloaded_rows_.data() + *at * row_bytes, row_bytes);
  }
  preloaded_.assign(words.begin(), words.end());
  preloaded_rows_ = std::move(rows);
  has_preloaded_ = std::move(has);
}

const EmbeddingReads& RowStore::Plan(std::span<const uint32_t> ids, uint32_t positions) {
  words_.assign(ids.begin(), ids.end());
  std::sort(words_.begin(), words_.end());
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  PlanReads(positions);
  return reads_;
}

const EmbeddingReads* RowStore::PlanAhead() {
  words_.clear();
  for (size_t i = 0; i < preloaded_.size() && words_.size() < tokens_; ++i) {
    if (!has_preloaded_[i]) words_.push_back(preloaded_[i]);
  }
  PlanReads(preloaded_.empty() ? 0 : tokens_);
  return reads_.ranges.empty() ? nullptr : &reads_;
}

void RowStore::PlanReads(uint32_t tokens) {
  const uint32_t positions = index_.info.position_rows(tokens);
  // Positions are read again from the first where some are missing: a read that fails spoils whole
  // blocks.
  if (positions > positions_) positions_ = 0;
  reads_.first_position = std::min(positions_, positions);
  reads_.end_position = positions;
  PlanMissingWords();
  // Kept rows where blocks are to land go, and some may be the text's own.
  while (recent_.size() > SlotsBehind(reads_.end)) {
    recent_.Shrink(SlotsBehind(reads_.end));
    PlanMissingWords();
  }
}

void RowStore::PlanMissingWords() {
  reads_.words.clear();
  std::copy_if(words_.begin(), words_.end(), std::back_inserter(reads_.words),
               [&](uint32_t word) { return Kept(word) == nullptr; });
  PlanEmbeddingReads(index_, words_place_, &reads_);
}

Status RowStore::Sum(const EmbeddingInput& input, const std::string& file, float* hidden) const {
  const auto locate = [this](const RowTable& table, uint32_t row) { return Locate(table, row); };
  return SumEmbeddings(index_, locate, input, file, hidden);
}

void RowStore::Keep() {
  if (!keeps_) return;
  positions_ = std::max(positions_, reads_.end_position);
  const auto keep = [&](uint32_t word, uint8_t* place) {
    std::memcpy(place, LocateRow(reads_, memory_.span(), index_.words, word),
                index_.words.row_bytes);
  };
  others_.clear();
  for (const uint32_t word : reads_.words) {
    const auto at = PreloadedAt(word);
    if (!at) {
      others_.push_back(word);
      continue;
    }
    keep(word, preloaded_rows_.data() + *at * index_.words.row_bytes);
    has_preloaded_[*at] = true;
  }
  recent_.Note(words_, others_, SlotsBehind(reads_.end), [&](uint32_t word, uint32_t slot) {
    keep(word, memory_.data() + PlaceOfSlot(slot));
  });
}

const uint8_t* RowStore::Locate(const RowTable& table, uint32_t row) const {
  if (&table == &index_.positions)
    return memory_.data() + PlaceOfPosition(index_, row - index_.info.first_position_row());
  const uint8_t* const kept = Kept(row);
  return kept != nullptr ? kept : LocateRow(reads_, memory_.span(), table, row);
}

std::optional<size_t> RowStore::PreloadedAt(uint32_t word) const {
  const auto at = std::lower_bound(preloaded_.begin(), preloaded_.end(), word);
  if (at == preloaded_.end() || *at != word) return std::nullopt;
  return static_cast<size_t>(at - preloaded_.begin());
}

const uint8_t* RowStore::Kept(uint32_t word) const {
  if (!vocabulary_.empty()) return &vocabulary_[size_t{word} * index_.words.row_bytes];
  const auto at = PreloadedAt(word);
  if (at && has_preloaded_[*at]) return preloaded_rows_.data() + *at * index_.words.row_bytes;
  const auto slot = recent_.SlotOf(word);
  return slot ? memory_.data() + PlaceOfSlot(*slot) : nullptr;
}

const uint8_t* RowStore::Find(const RowTable& table, uint32_t row,
                              const std::vector<bool>& arrived) const {
  const bool of_position = &table == &index_.positions;
  const uint32_t position = row - index_.info.first_position_row();
  if (of_position ? position < positions_ : Kept(row) != nullptr) return Locate(table, row);
  const bool is_read =
      of_position ? position < reads_.end_position : std::ranges::binary_search(reads_.words, row);
  const uint64_t offset = table.offset + uint64_t{row} * table.row_bytes;
  for (size_t range = 0; is_read && range < arrived.size(); ++range) {
    const EmbeddingReads::Range& read = reads_.ranges[range];
    if (!arrived[range] || offset < read.offset || offset >= read.offset + read.length) continue;
    return LocateRow(reads_, memory_.span(), table, row);
  }
  return nullptr;
}

// Reads in flight land in blocks of the text at hand, which are no kept rows.
std::shared_ptr<RowStore> RowStore::Leave() {
  auto copy = std::make_shared<RowStore>(index_, keeps_);
  copy->Reserve(tokens_, most_positions_);
  copy->preloaded_ = std::move(preloaded_);
  copy->has_preloaded_ = std::move(has_preloaded_);
  copy->preloaded_rows_ = std::move(preloaded_rows_);
  const uint64_t kept = PlaceOfSlot(recent_.size()) + index_.words.row_bytes;
  std::memcpy(copy->memory_.data() + kept, memory_.data() + kept, slots_end_ - kept);
  copy->recent_.CopyFrom(recent_);
  std::memcpy(copy->memory_.data(), memory_.data(), PlaceOfPosition(index_, positions_));
  copy->positions_ = positions_;
  return copy;
}

// The first slot is the last row, so that the memory between blocks and rows is of one piece.
uint64_t RowStore::PlaceOfSlot(uint64_t slot) const {
  return slots_end_ - (slot + 1) * index_.words.row_bytes;
}

size_t RowStore::SlotsBehind(uint64_t place) const {
  return place >= slots_end_ ? 0 : (slots_end_ - place) / index_.words.row_bytes;
}

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
