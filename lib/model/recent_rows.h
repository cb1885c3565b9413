// A record of which words' rows are kept from earlier texts, and which make room for others: those
// that no text has used for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/function_ref.h"

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

}  // namespace sti
