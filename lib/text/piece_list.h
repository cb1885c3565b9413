#pragma once

#include <cstdint>
#include <vector>

namespace sti {

/// Collects pieces of one text: the first `limit` ids, and how many there would be.
class PieceList {
 public:
  explicit PieceList(uint64_t limit) : limit_(limit) {}

  void Add(uint32_t id) {
    if (count_++ < limit_) ids_.push_back(id);
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool full() const { return count_ > limit_; }  ///< some did not fit
  [[nodiscard]] const std::vector<uint32_t>& ids() const { return ids_; }

 private:
  uint64_t limit_;
  uint64_t count_ = 0;
  std::vector<uint32_t> ids_;
};

}  // namespace sti
