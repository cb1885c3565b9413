// A door that a test closes to hold back what passes it, and opens again: what hangs then hangs for
// as long as the test wants, however busy the machine is.
#pragma once

#include <condition_variable>
#include <mutex>

namespace sti {

/// The door that reads of one or more readers hang before. Thread-safe.
class Door {
 public:
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void Open() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = false;
    }
    changed_.notify_all();
  }
  [[nodiscard]] bool is_closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  /// Waits until the door is open.
  void Pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !closed_; });
    --waiting_;
  }
  /// Waits until a read hangs before the closed door.
  void AwaitHanging() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return closed_ && waiting_ > 0; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  int waiting_ = 0;
};

}  // namespace sti
