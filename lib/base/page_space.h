// Memory by pages: pages that stay, which the system takes from nobody however short of memory it
// is, and address space whose pages come and go one by one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/result.h"

namespace sti {

/// Reserves `bytes` of zeroed memory that occupies nothing until it is written, page by page.
/// Move-only; throws std::bad_alloc if there is no address space.
class PageSpace {
 public:
  PageSpace() = default;
  explicit PageSpace(uint64_t bytes);
  ~PageSpace();
  PageSpace(PageSpace&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        locked_(std::exchange(other.locked_, false)) {}
  PageSpace& operator=(PageSpace&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(locked_, other.locked_);
    return *this;
  }

  /// Gives back the pages that lie wholly in [offset, offset + length); they read as zero then.
  void Discard(uint64_t offset, uint64_t length);

  /// Keeps the pages of [offset, offset + length) in memory until they are discarded, as LockMemory
  /// does.
  [[nodiscard]] Status Lock(uint64_t offset, uint64_t length);

  [[nodiscard]] std::span<uint8_t> span() { return {data_, size_}; }
  [[nodiscard]] std::span<const uint8_t> span() const { return {data_, size_}; }
  /// Returns the bytes of a page.
  [[nodiscard]] static uint64_t PageBytes();

 private:
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  bool locked_ = false;  ///< some pages
};

/// Brings the pages of `memory` in and keeps them (mlock). kMachine where the system does not allow
/// it; then nothing of `memory` is kept. Locks do not nest.
[[nodiscard]] Status LockMemory(std::span<const uint8_t> memory);

/// Lets the pages of `memory` go again when others need theirs.
void UnlockMemory(std::span<const uint8_t> memory);

}  // namespace sti
