#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "base/checked.h"

namespace sti {
namespace {

// From this size on a buffer is mapped. Smaller ones are many, and a mapping takes whole pages.
constexpr uint64_t kMappedBytes = uint64_t{256} << 10;

}  // namespace

AlignedBuffer::AlignedBuffer(uint64_t size) : size_(size) {
  if (size == 0) return;
  if (size < kMappedBytes) {
    data_ = static_cast<uint8_t*>(std::aligned_alloc(kBlockBytes, RoundUp(size, kBlockBytes)));
    if (data_ == nullptr) throw std::bad_alloc();
    return;
  }
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<uint8_t*>(memory);
}

AlignedBuffer::~AlignedBuffer() {
  if (locked_) UnlockMemory(span());
  if (size_ < kMappedBytes) {
    std::free(data_);
  } else if (data_ != nullptr) {
    ::munmap(data_, size_);
  }
}

}  // namespace sti
