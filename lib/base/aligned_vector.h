// A vector whose numbers begin with a cache line. Each load of a vector of 64 bytes that lies
// across two lines costs as much as two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace sti {

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

}  // namespace sti
