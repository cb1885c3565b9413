// How words are used in texts like those of an app: which of them are frequent, and how much of its
// embedding rows a text has to read where the rows of some words stay in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace sti {

/// The reads of embedding rows where the memory of rows would hold those of a text of `tokens`:
/// longer texts come too, and what the shorter ones leave free keeps rows.
struct RowRoom {
  uint32_t tokens = 0;
  double share = 0;      ///< 0 to 1: medians of both
  double p99_share = 0;  ///< 0 to 1: 99th percentiles of both
  friend bool operator==(const RowRoom&, const RowRoom&) = default;
};

/// The reads of embedding rows of texts of one length, where the rows of the most frequent words
/// are preloaded and those of recent texts are kept too (model/row_store.h). Shares are of the
/// bytes that are read where nothing is kept.
struct RowReads {
  uint32_t length = 0;              ///< tokens of each text
  uint32_t words = 0;               ///< most frequent words whose rows are preloaded
  double share = 0;                 ///< 0 to 1: medians of both, with room for texts of this length
  double p99_share = 0;             ///< 0 to 1: 99th percentiles of both
  std::vector<RowRoom> rooms = {};  ///< with more room (since 1.7); ascending, each above `length`
  friend bool operator==(const RowReads&, const RowReads&) = default;
};

/// Words and reads, as measured on one set of texts.
struct WordUse {
  std::vector<uint32_t> words;  ///< token ids, the most frequent first; each once
  /// Ascending by length, then by words, the first of each length with 0; each once.
  std::vector<RowReads> reads;
  [[nodiscard]] bool empty() const { return reads.empty(); }
  friend bool operator==(const WordUse&, const WordUse&) = default;
};

}  // namespace sti
