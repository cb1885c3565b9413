// Byte-level byte pair encoding, as GPT-2 and RoBERTa have it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/piece_list.h"
#include "text/vocabulary.h"

namespace sti {

/// Splits text into words by GPT-2's pattern, then joins each word's bytes pair by pair: the merge
/// with the lowest rank first, and among equal ones the leftmost.
///
/// Bytes that are not UTF-8 become U+FFFD. A word of n bytes takes n log n steps and some 40 n
/// bytes of memory while it is joined. Immutable once made: any number of threads may call Split at
/// once.
class ByteBpe {
 public:
  /// Makes a splitter; `merges` has one "left right" a line, in rank order. DataError if a byte has
  /// no token, if a merge joins or makes what is no token, or stands twice, or if there are more
  /// than kMaxMerges.
  static Result<ByteBpe> Create(Vocabulary vocabulary, std::string_view merges,
                                bool add_prefix_space);

  /// Returns the first `limit` ids. Stops early, at the end of a word, once the text cannot fit,
  /// unless `count_all`.
  [[nodiscard]] PieceList Split(std::string_view text, uint64_t limit, bool count_all,
                                PieceList::Keeps keeps = PieceList::Keeps::kBegin) const;

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
