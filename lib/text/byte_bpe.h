// Byte-level byte pair encoding, as GPT-2 and RoBERTa have it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/text_cutter.h"
#include "text/vocabulary.h"

namespace sti {

/// Splits text into words by GPT-2's pattern, then joins each word's bytes pair by pair: the merge
/// with the lowest rank first, and among equal ones the leftmost.
///
/// Bytes that are not UTF-8 become U+FFFD. A word is joined in stretches of kStretchBytes at least,
/// which take some 40 bytes of memory a byte; one that is longer takes as many steps a byte as a
/// short one, unless merges reach further than that. Immutable once made: any number of threads may
/// call Cut at once.
class ByteBpe {
 public:
  /// A word of up to so many bytes is joined as a whole.
  static constexpr size_t kStretchBytes = 4096;

  /// Makes a splitter; `merges` has one "left right" a line, in rank order. DataError if a byte has
  /// no token, if a merge joins or makes what is no token, or stands twice, or if there are more
  /// than kMaxMerges.
  static Result<ByteBpe> Create(Vocabulary vocabulary, std::string_view merges,
                                bool add_prefix_space);

  /// Begins to cut a text into `pieces`. The splitter outlives what it returns.
  [[nodiscard]] std::unique_ptr<TextCutter> Cut(std::string_view text, PieceList* pieces) const;

  [[nodiscard]] const Vocabulary& vocabulary() const { return vocabulary_; }
  /// Returns the bytes of the merges and their table.
  [[nodiscard]] uint64_t merge_bytes() const;
  /// Returns what merge_bytes() of `merges` merges is.
  static uint64_t MergeBytesFor(uint64_t merges);

 private:
  friend class WordJoiner;
  struct Merge {
    uint32_t left = 0;  ///< token ids
    uint32_t right = 0;
    uint32_t joined = 0;
  };

  explicit ByteBpe(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  [[nodiscard]] Status FindBytes();
  [[nodiscard]] Status AddMerge(std::string_view line);
  [[nodiscard]] Status BuildTable();
  [[nodiscard]] size_t SlotOf(uint32_t left, uint32_t right) const;
  /// Returns the rank of the merge of these two tokens, if there is one.
  [[nodiscard]] std::optional<uint32_t> RankOf(uint32_t left, uint32_t right) const;

  Vocabulary vocabulary_;
  std::array<uint32_t, 256> byte_ids_{};
  std::vector<Merge> merges_;    ///< by rank
  std::vector<uint32_t> slots_;  ///< ranks, or kEmpty; a power of two of them
  bool add_prefix_space_ = false;
};

}  // namespace sti
