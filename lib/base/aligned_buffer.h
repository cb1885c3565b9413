// Memory that begins with a cache line: a buffer that can be kept in memory, a vector of numbers,
// and the parts that a piece of memory is laid out in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/page_space.h"
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

inline constexpr size_t kLineBytes = 64;

template <typename T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <typename U>
  explicit LineAllocator(const LineAllocator<U>& /*other*/) {}

  T* allocate(size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kLineBytes}));
  }
  void deallocate(T* data, size_t /*count*/) {
    ::operator delete (data, std::align_val_t{kLineBytes});
  }
  bool operator==(const LineAllocator& /*other*/) const { return true; }
};

/// A std::vector whose memory begins with a cache line; for few and large ones.
template <typename T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

/// Hands out memory part after part, each aligned to a cache line as long as the first is.
class Carver {
 public:
  explicit Carver(uint8_t* begin) : next_(begin) {}

  template <typename T>
  T* Take(uint64_t count) {
    uint8_t* part = next_;
    next_ += Room<T>(count);
    return reinterpret_cast<T*>(part);
  }
  /// Returns the bytes that Take moves on by.
  template <typename T>
  static constexpr uint64_t Room(uint64_t count) {
    return RoundUp(count * sizeof(T), 64);
  }

 private:
  uint8_t* next_;
};

}  // namespace sti
