// A lock that the compiler knows. Mutex, MutexLock and CondVar are std::mutex, std::lock_guard and
// std::condition_variable with attributes by which a member names the lock that guards it, so that
// it cannot be touched without it. Clang checks them with -Wthread-safety, and so `make tidy` does;
// other compilers see nothing. A condition is waited for in a loop that names it,
//
//   while (!ready_) changed_.Wait(mutex_);
//
// because the attributes do not reach into a predicate.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

#if defined(__clang__)
#define STI_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define STI_THREAD_ATTRIBUTE(x)
#endif

/// On a member: it is read and written only while the lock is held.
#define STI_GUARDED_BY(lock) STI_THREAD_ATTRIBUTE(guarded_by(lock))
/// On a function: its caller holds the lock.
#define STI_REQUIRES(...) STI_THREAD_ATTRIBUTE(exclusive_locks_required(__VA_ARGS__))
/// On a function: its caller does not hold the lock, because the function takes it.
#define STI_EXCLUDES(...) STI_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))

// For the classes of this header alone.
#define STI_LOCKABLE STI_THREAD_ATTRIBUTE(lockable)
#define STI_SCOPED_LOCKABLE STI_THREAD_ATTRIBUTE(scoped_lockable)
#define STI_ACQUIRES(...) STI_THREAD_ATTRIBUTE(exclusive_lock_function(__VA_ARGS__))
#define STI_RELEASES(...) STI_THREAD_ATTRIBUTE(unlock_function(__VA_ARGS__))

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
