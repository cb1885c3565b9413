// A lock that the compiler knows. Mutex, MutexLock and CondVar are std::mutex, std::lock_guard and
// std::condition_variable with the attributes of base/thread_annotations.h, so that a member which
// names its lock cannot be touched without it. A condition is waited for in a loop that names it,
//
//   while (!ready_) changed_.Wait(mutex_);
//
// because the attributes do not reach into a predicate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"
#include "base/thread_annotations.h"

namespace sti {

class STI_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() STI_ACQUIRES() { mutex_.lock(); }
  void Unlock() STI_RELEASES() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a Mutex as long as it lives.
class STI_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) STI_ACQUIRES(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() STI_RELEASES() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Lets threads that hold one Mutex wait for each other. A wait gives the Mutex back meanwhile, and
/// may end without a reason.
class CondVar {
 public:
  void Wait(Mutex& mutex) STI_REQUIRES(mutex) {
    Held held(mutex);
    changed_.wait(held.lock);
  }
  /// Waits until `latest` at most; returns false if that moment has come.
  bool WaitUntil(Mutex& mutex, Clock::time_point latest) STI_REQUIRES(mutex) {
    Held held(mutex);
    return changed_.wait_until(held.lock, latest) == std::cv_status::no_timeout;
  }
  void NotifyAll() { changed_.notify_all(); }

 private:
  /// The lock of a Mutex that the caller holds, in the form that the standard library waits with.
  struct Held {
    explicit Held(Mutex& mutex) : lock(mutex.mutex_, std::adopt_lock) {}
    ~Held() { lock.release(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    std::unique_lock<std::mutex> lock;
  };

  std::condition_variable changed_;
};

}  // namespace sti
