#include "memory_meter.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> in_use{0};
std::atomic<int64_t> at_start{0};
std::atomic<int64_t> most{0};

void* Take(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const int64_t now = in_use += static_cast<int64_t>(malloc_usable_size(memory));
  int64_t seen = most;
  while (now > seen && !most.compare_exchange_weak(seen, now)) {
  }
  return memory;
}

void Give(void* memory) {
  if (memory == nullptr) return;
  in_use -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

// All forms but the aligned ones: a sanitizer has its own, and what one set gives out the other
// must not take back.
void* operator new(std::size_t size) { return Take(std::malloc(size == 0 ? 1 : size)); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size == 0 ? 1 : size);
  return memory == nullptr ? nullptr : Take(memory);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { Give(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Give(memory); }
void operator delete(void* memory) noexcept { Give(memory); }
void operator delete[](void* memory) noexcept { Give(memory); }
void operator delete(void* memory, std::size_t) noexcept { Give(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Give(memory); }

namespace sti {

MemoryMeter::MemoryMeter() {
  at_start = in_use.load();
  most = in_use.load();
}

uint64_t MemoryMeter::peak_bytes() const { return static_cast<uint64_t>(most - at_start); }

}  // namespace sti
