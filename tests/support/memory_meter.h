// How much memory a call takes, to show that a number in a file takes none.
#pragma once

#include <cstdint>

namespace sti {

/// Counts what operator new gives out, in all threads, from its construction on. Memory of other
/// origin (aligned_alloc of large buffers, zstd's own) is not seen. One at a time.
class MemoryMeter {
 public:
  MemoryMeter();
  /// The most that was in use at once, beyond what was in use at the start.
  [[nodiscard]] uint64_t peak_bytes() const;
};

}  // namespace sti
