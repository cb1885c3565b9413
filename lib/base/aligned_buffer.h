// Memory aligned for direct reads and for vectors.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/memory_lock.h"
#include "base/result.h"

namespace sti {

/// The unit of direct IO and of extents in a container.
inline constexpr uint64_t kBlockBytes = 4096;

/// Owns `size` bytes aligned to kBlockBytes, not initialised. Large ones are mapped, so that the
/// system has their memory back at once: the C library keeps what a thread gave back for that
/// thread. Move-only; throws std::bad_alloc.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(uint64_t size);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        locked_(std::exchange(other.locked_, false)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(locked_, other.locked_);
    return *this;
  }

  /// Becomes `size` bytes, not initialised. The old ones are given back first, so that the peak of
  /// memory is low.
  void Renew(uint64_t size) {
    *this = AlignedBuffer();
    *this = AlignedBuffer(size);
  }

  /// Keeps the bytes in memory for as long as they are there, as LockMemory does.
  [[nodiscard]] Status Lock() {
    if (locked_) return {};
    Status status = LockMemory(span());
    locked_ = status.ok();
    return status;
  }

  [[nodiscard]] uint8_t* data() { return data_; }
  [[nodiscard]] const uint8_t* data() const { return data_; }
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] std::span<uint8_t> span() { return {data_, size_}; }
  [[nodiscard]] std::span<const uint8_t> span() const { return {data_, size_}; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
  bool locked_ = false;
};

}  // namespace sti
