// Storage that a callback of the app reads: well, wrongly, not at all, or calling the library.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "capi/sti.h"
#include "support/door.h"

namespace sti {

/// A callback's storage, and what it does wrong.
struct Storage {
  const std::vector<uint8_t>& bytes;
  Door door = {};
  std::atomic<int> lies{0};      // 1: fails, 2: says that it read more than it was asked for
  sti_model* model = nullptr;    // where set, reads call the library
  std::atomic<int> refused{0};   // of those calls
  std::atomic<int> delay_us{0};  // that each read takes longer

  static int64_t ReadAt(void* user, uint64_t offset, void* buffer, uint64_t bytes) {
    auto& self = *static_cast<Storage*>(user);
    self.door.Pass();
    if (self.delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(self.delay_us));
    if (self.lies == 1) return -1;
    if (self.model != nullptr) {
      sti_error error;
      sti_close(self.model);  // does nothing
      if (sti_run(self.model, "a", 1, nullptr, 0, &error) == STI_USAGE &&
          sti_label(self.model, 0) == -1) {
        ++self.refused;
      }
    }
    const uint64_t count = std::min<uint64_t>(bytes, self.bytes.size() - offset);
    std::memcpy(buffer, self.bytes.data() + offset, count);
    return static_cast<int64_t>(self.lies == 2 ? bytes + 1 : count);
  }
};

}  // namespace sti
