#pragma once

#include <cstdint>
#include <vector>

namespace sti {

/// Collects the pieces of one text, word by word: the first `limit` ids with the word of each,
/// counted from 0, and how many there would be.
class PieceList {
 public:
  explicit PieceList(uint64_t limit) : limit_(limit) {}

  /// Says that the pieces from here on are of the next word.
  void EndWord() { ++word_; }

  void Add(uint32_t id) {
    if (count_++ >= limit_) return;
    ids_.push_back(id);
    words_.push_back(word_);
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool full() const { return count_ > limit_; }  ///< some did not fit
  [[nodiscard]] const std::vector<uint32_t>& ids() const { return ids_; }
  [[nodiscard]] const std::vector<uint32_t>& words() const { return words_; }  ///< [ids]

 private:
  uint64_t limit_;
  uint64_t count_ = 0;
  uint32_t word_ = 0;
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> words_;
};

}  // namespace sti
