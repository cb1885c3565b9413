#include "base/page_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "base/checked.h"
#include "base/remedy.h"

namespace sti {

PageSpace::PageSpace(uint64_t bytes) : size_(bytes) {
  if (bytes == 0) return;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<uint8_t*>(memory);
  // A huge page would occupy more than was written.
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
}

PageSpace::~PageSpace() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void PageSpace::Discard(uint64_t offset, uint64_t length) {
  const uint64_t begin = RoundUp(offset, PageBytes());
  const uint64_t end = RoundDown(offset + length, PageBytes());
  if (begin >= end) return;
  if (locked_) UnlockMemory({data_ + begin, end - begin});  // else they would stay
  ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
}

Status PageSpace::Lock(uint64_t offset, uint64_t length) {
  STI_RETURN_IF_ERROR(LockMemory({data_ + offset, length}));
  locked_ = true;
  return {};
}

uint64_t PageSpace::PageBytes() {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

Status LockMemory(std::span<const uint8_t> memory) {
  if (memory.empty() || ::mlock(memory.data(), memory.size()) == 0) return {};
  const int refusal = errno;
  return MachineError("memory cannot be locked (" + std::string(std::strerror(refusal)) + ")")
      .Fix(Remedy::kMoreLockedMemory);
}

void UnlockMemory(std::span<const uint8_t> memory) {
  if (!memory.empty()) ::munlock(memory.data(), memory.size());
}

}  // namespace sti
