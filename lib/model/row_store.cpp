#include "model/row_store.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/checked.h"

namespace sti {

uint64_t RowStore::RoomFor(const ContainerIndex& index, uint32_t tokens) {
  // The rows of positions may begin anywhere in a block.
  const uint64_t positions = RoundUp(uint64_t{tokens} * index.positions.row_bytes, kBlockBytes);
  return MaxWordBlockBytes(index, tokens) + positions + kBlockBytes;
}

void RowStore::Reserve(uint32_t tokens) {
  if (tokens == tokens_) return;
  tokens_ = tokens;
  memory_.Renew(RoomFor(index_, tokens));
  words_place_ = PositionBlockBytes(index_, tokens);
  positions_ = 0;
  words_.reserve(tokens);
  reads_.words.reserve(tokens);
  reads_.ranges.reserve(tokens + 1);
  const uint64_t room = memory_.size() - words_place_;
  const uint64_t slots = keeps_ ? room / (index_.words.row_bytes + sizeof(RecentRows::Entry)) : 0;
  slots_end_ = memory_.size() - slots * sizeof(RecentRows::Entry);
  auto* const entries = new (memory_.data() + slots_end_) RecentRows::Entry[slots];
  recent_ = RecentRows({entries, slots});
}

void RowStore::Forget() {
  recent_.Shrink(0);
  positions_ = 0;
}

void RowStore::Release() {
  Forget();
  tokens_ = 0;
  memory_ = AlignedBuffer();
}

const EmbeddingReads& RowStore::Plan(std::span<const uint32_t> ids, uint32_t positions) {
  words_.assign(ids.begin(), ids.end());
  std::sort(words_.begin(), words_.end());
  words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
  // Positions are read again from the first where some are missing: a read that fails spoils whole
  // blocks.
  if (positions > positions_) positions_ = 0;
  reads_.first_position = std::min(positions_, positions);
  reads_.end_position = positions;
  PlanReads();
  // Kept rows where blocks are to land go, and some may be the text's own.
  while (recent_.size() > SlotsBehind(reads_.end)) {
    recent_.Shrink(SlotsBehind(reads_.end));
    PlanReads();
  }
  return reads_;
}

void RowStore::PlanReads() {
  reads_.words.clear();
  std::copy_if(words_.begin(), words_.end(), std::back_inserter(reads_.words),
               [&](uint32_t word) { return !recent_.SlotOf(word); });
  PlanEmbeddingReads(index_, words_place_, &reads_);
}

Status RowStore::Sum(std::span<const uint32_t> ids, std::span<const uint32_t> types,
                     std::span<const float> type_rows, const std::string& file,
                     float* hidden) const {
  const auto locate = [this](const RowTable& table, uint32_t row) { return Locate(table, row); };
  return SumEmbeddings(index_, locate, ids, types, type_rows, file, hidden);
}

void RowStore::Keep() {
  if (!keeps_) return;
  positions_ = std::max(positions_, reads_.end_position);
  recent_.Note(words_, reads_.words, SlotsBehind(reads_.end), [&](uint32_t word, uint32_t slot) {
    std::memcpy(memory_.data() + PlaceOfSlot(slot),
                LocateRow(reads_, memory_.span(), index_.words, word), index_.words.row_bytes);
  });
}

const uint8_t* RowStore::Locate(const RowTable& table, uint32_t row) const {
  if (&table == &index_.positions)
    return memory_.data() + PlaceOfPosition(index_, row - index_.info.position_offset);
  if (const auto slot = recent_.SlotOf(row)) return memory_.data() + PlaceOfSlot(*slot);
  return LocateRow(reads_, memory_.span(), table, row);
}

// The first slot is the last row, so that the memory between blocks and rows is of one piece.
uint64_t RowStore::PlaceOfSlot(uint64_t slot) const {
  return slots_end_ - (slot + 1) * index_.words.row_bytes;
}

size_t RowStore::SlotsBehind(uint64_t place) const {
  return place >= slots_end_ ? 0 : (slots_end_ - place) / index_.words.row_bytes;
}

}  // namespace sti
