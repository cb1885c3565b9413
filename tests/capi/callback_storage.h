// Storage that a callback of the app reads, well, wrongly, not at all, or calling the library, and
// calls that are made while its reads hang.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "capi/sti.h"
#include "sti_fixture.h"
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
  std::atomic<int> failed{0};    // of the reads

  static int64_t ReadAt(void* user, uint64_t offset, void* buffer, uint64_t bytes) {
    auto& self = *static_cast<Storage*>(user);
    self.door.Pass();
    if (self.delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(self.delay_us));
    if (self.lies == 1) {
      ++self.failed;
      return -1;
    }
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

/// Makes a call while all reads hang, and cancels it. Returns what it gives; reads hang still.
template <typename Call>
sti_code CancelledWhileReadsHang(Storage& storage, sti_model* model, Call call) {
  storage.door.Close();
  std::atomic<bool> ended{false};
  std::thread cancelling([&] {
    storage.door.AwaitHanging();
    // The read may be of an earlier call, and this one still at its beginning.
    while (!ended) {
      EXPECT_EQ(sti_cancel(model), STI_OK);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const sti_code code = call();
  ended = true;
  cancelling.join();
  return code;
}

/// Makes a call while all reads hang, and lets them go on afterwards. Returns whether it ended
/// before: one that is not guaranteed to is let go after half a minute.
template <typename Call>
bool EndsWhileReadsHang(Storage& storage, Call call) {
  storage.door.Close();
  std::atomic<bool> ended{false};
  std::thread guard([&] {
    for (int tries = 0; tries < 3000 && !ended; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (!ended) storage.door.Open();
  });
  call();
  const bool hang = storage.door.is_closed();
  ended = true;
  guard.join();
  storage.door.Open();
  return hang;
}

/// A test whose model is open over such storage.
class StorageTest : public StiTest {
 protected:
  void SetUp() override {
    StiTest::SetUp();
    sti_close(std::exchange(model_, nullptr));
    ASSERT_TRUE(Is(
        STI_OK, sti_open_read(host_, Storage::ReadAt, &storage_, bytes_.size(), &model_, &error_),
        error_));
  }
  void TearDown() override {
    storage_.door.Open();
    StiTest::TearDown();
  }
  // Returns what `call` gives once it is cancelled, while all reads hang.
  template <typename Call>
  sti_code Cancelled(Call call) {
    return CancelledWhileReadsHang(storage_, model_, call);
  }

  Storage storage_{bytes_};
};

}  // namespace sti
