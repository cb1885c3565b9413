// The pieces of one text, as tokenizers of both kinds collect them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sti {

/// Collects the pieces of one text, word by word, with the word of each, counted from 0: the first
/// `limit` of them, or the last, and how many there would be. Memory is that of `limit` pieces.
class PieceList {
 public:
  enum class Keeps : uint8_t { kBegin, kEnd };
  explicit PieceList(uint64_t limit, Keeps keeps = Keeps::kBegin) : limit_(limit), keeps_(keeps) {}

  /// Says that the pieces from here on are of the next word.
  void EndWord() { ++word_; }

  void Add(uint32_t id) {
    const uint64_t at = count_++;
    if (at < limit_) {
      ids_.push_back(id);
      words_.push_back(word_);
    } else if (keeps_ == Keeps::kEnd && limit_ > 0) {
      ids_[at % limit_] = id;
      words_[at % limit_] = word_;
    }
  }

  /// Puts the pieces that are kept in order, once all were added.
  void Finish() {
    if (keeps_ != Keeps::kEnd || count_ <= limit_ || limit_ == 0) return;
    const auto first = static_cast<std::ptrdiff_t>(count_ % limit_);
    std::rotate(ids_.begin(), ids_.begin() + first, ids_.end());
    std::rotate(words_.begin(), words_.begin() + first, words_.end());
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool full() const { return count_ > limit_; }  ///< some did not fit
  /// Returns whether no further piece changes what is kept, nor whether some did not fit.
  [[nodiscard]] bool done() const { return full() && keeps_ == Keeps::kBegin; }
  [[nodiscard]] const std::vector<uint32_t>& ids() const { return ids_; }
  [[nodiscard]] const std::vector<uint32_t>& words() const { return words_; }  ///< [ids]

 private:
  uint64_t limit_;
  Keeps keeps_;
  uint64_t count_ = 0;
  uint32_t word_ = 0;
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> words_;
};

}  // namespace sti
