// The memory of embedding rows. A text's rows are read into it and summed from it; what later texts
// may need again stays there meanwhile, so that it is not read once more: the rows of positions,
// which every text begins with, and those of words that recent texts had.
//
// For these it takes no more memory than reading needs: a text of the longest length, all of whose
// words differ and lie across two blocks each, would fill it. Hardly any does, and what it leaves
// free holds rows, packed. Rows that a plan preloads have memory of their own.
//
//   blocks of positions | blocks of this text's words ->    free    <- kept rows | entries of them
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "format/container_index.h"
#include "model/embedding_rows.h"

namespace sti {

/// Keeps words in numbered slots. It allocates nothing. One thread at a time.
class RecentRows {
 public:
  /// A kept word.
  struct Entry {
    uint32_t word = 0;
    uint32_t slot = 0;
    uint32_t used = 0;  ///< number of the last text that used it
  };

  RecentRows() = default;
  /// Keeps as many words as `entries` has places, which outlive it and are its own meanwhile.
  explicit RecentRows(std::span<Entry> entries) : entries_(entries) {}

  /// Keeps what `other` keeps, which has as many places.
  void CopyFrom(const RecentRows& other);
  /// Returns the slot of a word; nothing if it is not kept.
  [[nodiscard]] std::optional<uint32_t> SlotOf(uint32_t word) const;
  /// Forgets the words whose slots are not below `slots`.
  void Shrink(size_t slots);
  /// Takes note of one text: the kept ones of `used` are now the latest, and `missing`, none of
  /// which is kept, are kept from now on in slots below `slots`, as many as there is room for.
  /// Both ascend. `place` is told each new word's slot.
  void Note(std::span<const uint32_t> used, std::span<const uint32_t> missing, size_t slots,
            FunctionRef<void(uint32_t word, uint32_t slot)> place);

  [[nodiscard]] size_t size() const { return size_; }

 private:
  [[nodiscard]] std::span<Entry> kept() const { return entries_.first(size_); }

  std::span<Entry> entries_;  ///< the first `size_`, by word; their slots are 0 to size_ - 1
  size_t size_ = 0;
  uint32_t texts_ = 0;
};

/// Rows of one model. For each text Plan, then the reads, Sum for each of its sequences, and Keep.
/// Preloaded rows come by PlanAhead, the reads and Keep, or else with the first text that has them.
/// One thread at a time; the memory that reads land in is the reader's meanwhile.
class RowStore {
 public:
  /// `index` outlives the store. Unless it `keeps` rows, each text reads all of its own.
  explicit RowStore(const ContainerIndex& index, bool keeps = true)
      : index_(index), keeps_(keeps) {}

  /// Makes room for texts of so many tokens, whose positions are below `positions` if that is more:
  /// empty, unless it is there already. `touch`: its pages are taken at once, and not by the first
  /// texts.
  void Reserve(uint32_t tokens, uint32_t positions = 0, bool touch = false);
  /// Gives the room back, with all that is kept in it, until Reserve.
  void Release();
  /// Returns the bytes of room for so many tokens and positions.
  static uint64_t RoomFor(const ContainerIndex& index, uint32_t tokens, uint32_t positions = 0);
  /// Returns whether rows stay for further texts.
  [[nodiscard]] bool keeps() const { return keeps_; }
  [[nodiscard]] uint64_t room() const { return memory_.size(); }
  /// Visits all memory.
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit);

  /// Makes room for rows that are preloaded, those of `words`, which ascend, and gives up others.
  /// Those of them that have come stay.
  void Preload(std::span<const uint32_t> words);
  /// Returns the bytes of that room.
  [[nodiscard]] uint64_t preload_bytes() const { return preloaded_rows_.size(); }
  /// Returns reads of preloaded rows that are not there yet, as many as there is room for at once,
  /// and with them of positions; null if nothing is missing. Valid until the next Plan or
  /// PlanAhead.
  const EmbeddingReads* PlanAhead();

  /// Takes the rows of words from `rows`, [vocabulary] as they are stored and checked, from now on;
  /// none: reads them, as before. They outlive the store, or the next call.
  void UseVocabulary(std::span<const uint8_t> rows) { vocabulary_ = rows; }

  /// Returns the reads of what is missing for texts of these words that need the first `positions`,
  /// at most as many each as there is room for. Valid until the next Plan.
  const EmbeddingReads& Plan(std::span<const uint32_t> ids, uint32_t positions);
  /// Returns the memory that they land in.
  [[nodiscard]] std::span<uint8_t> blocks() { return memory_.span(); }
  /// Sums rows of the text, which have been read, as SumEmbeddings does.
  [[nodiscard]] Status Sum(const EmbeddingInput& input, const std::string& file,
                           float* hidden) const;
  /// Keeps the rows of the text, or of what PlanAhead said, all of which have been read and are
  /// sound.
  void Keep();

  /// Returns a row that is in memory: one that is kept, or one of the text at hand that lies in a
  /// range of its reads that `arrived`; null if it is neither.
  [[nodiscard]] const uint8_t* Find(const RowTable& table, uint32_t row,
                                    const std::vector<bool>& arrived) const;
  /// Returns a store that keeps all that this one does, for further texts. This one is left to
  /// reads of the text at hand, which still land in it.
  [[nodiscard]] std::shared_ptr<RowStore> Leave();

  /// Forgets all that is kept, which a run that failed may have spoilt.
  void Forget();

 private:
  void PlanReads(uint32_t positions);
  void PlanMissingWords();
  [[nodiscard]] std::optional<size_t> PreloadedAt(uint32_t word) const;
  [[nodiscard]] const uint8_t* Kept(uint32_t word) const;
  [[nodiscard]] const uint8_t* Locate(const RowTable& table, uint32_t row) const;
  [[nodiscard]] uint64_t PlaceOfSlot(uint64_t slot) const;
  [[nodiscard]] size_t SlotsBehind(uint64_t place) const;

  const ContainerIndex& index_;
  const bool keeps_;
  AlignedBuffer memory_;
  uint32_t tokens_ = 0;                  ///< most tokens that there is room for
  uint32_t most_positions_ = 0;          ///< most positions
  std::span<const uint8_t> vocabulary_;  ///< of UseVocabulary
  uint64_t words_place_ = 0;             ///< where the blocks of words begin
  uint64_t slots_end_ = 0;               ///< where kept rows end, and their entries begin
  RecentRows recent_;
  uint32_t positions_ = 0;           ///< so many rows from first_position_row() on are kept
  std::vector<uint32_t> preloaded_;  ///< words, ascending
  std::vector<bool> has_preloaded_;  ///< [preloaded_] its row has come
  AlignedBuffer preloaded_rows_;     ///< [preloaded_] packed
  std::vector<uint32_t> words_;      ///< words of the text at hand, ascending
  std::vector<uint32_t> others_;     ///< those of them whose rows are neither kept nor preloaded
  EmbeddingReads reads_;             ///< reads of the text at hand
};

}  // namespace sti
