// How words are used in texts like those of an app: which of them are frequent, and how much of its
// embedding rows a text has to read where the rows of some words stay in memory. A *share* is a
// number of bytes that texts read so, divided by those that they read where no row stays in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace sti {

/// The reads of embedding rows where the row store has room for the rows of a text of `tokens`
/// tokens, as longer texts come too: the room that shorter ones leave free keeps rows of texts
/// before.
struct RowRoom {
  uint32_t tokens = 0;
  double share = 0;      ///< median bytes by median bytes, 0 to 1
  double p99_share = 0;  ///< 99th percentile by 99th percentile, 0 to 1
  friend bool operator==(const RowRoom&, const RowRoom&) = default;
};

/// The reads of embedding rows of texts of one length, where the rows of the most frequent words
/// are preloaded and the row store keeps those of recent texts too (model/row_store.h).
struct RowReads {
  uint32_t length = 0;  ///< tokens of each text
  uint32_t words = 0;   ///< most frequent words whose rows are preloaded
  /// Median bytes by median bytes, 0 to 1, with room for a text of this length.
  double share = 0;
  double p99_share = 0;  ///< 99th percentile by 99th percentile, 0 to 1
  /// The same with more room (since version 1.7): `tokens` ascend, all above `length`.
  std::vector<RowRoom> rooms = {};
  friend bool operator==(const RowReads&, const RowReads&) = default;
};

/// Words and reads, as measured on one set of texts.
struct WordUse {
  std::vector<uint32_t> words;  ///< token ids, the most frequent first; each once
  /// Ascending by length, then by words; no two have both equal, and each length begins with 0
  /// words.
  std::vector<RowReads> reads;
  [[nodiscard]] bool empty() const { return reads.empty(); }
  friend bool operator==(const WordUse&, const WordUse&) = default;
};

}  // namespace sti
