#include "base/memory_lock.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/remedy.h"

namespace sti {

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
