// An interrupt ends another thread's wait, and what it waits for: an app that no longer wants an
// answer need not sit out a read that hangs.
#pragma once

#include <atomic>

#include "base/mutex.h"
#include "base/thread_annotations.h"

namespace sti {

/// A flag that one thread works and waits under, and that any thread may raise. It stays raised
/// until it is cleared.
class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Raises the flag and wakes the thread that waits under it. Thread-safe.
  void Raise() STI_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    raised_.store(true);
    if (waited_under_ == nullptr) return;
    {
      // Whoever has found the flag down under this lock is asleep once it is free.
      MutexLock wait_lock(*waited_under_);
    }
    changed_->NotifyAll();
  }
  void Clear() { raised_.store(false); }
  [[nodiscard]] bool raised() const { return raised_.load(); }

 private:
  friend class InterruptibleWait;
  std::atomic<bool> raised_{false};
  Mutex mutex_;
  Mutex* waited_under_ STI_GUARDED_BY(mutex_) = nullptr;
  CondVar* changed_ STI_GUARDED_BY(mutex_) = nullptr;
};

/// Lets Raise wake a thread that waits for `changed` under `mutex`, for as long as this lives. It
/// is made before `mutex` is locked, and the loop of the wait asks raised(). One at a time for an
/// interrupt; `interrupt` null: nothing is ever raised.
class InterruptibleWait {
 public:
  InterruptibleWait(Interrupt* interrupt, Mutex& mutex, CondVar& changed) : interrupt_(interrupt) {
    Tell(&mutex, &changed);
  }
  ~InterruptibleWait() { Tell(nullptr, nullptr); }
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  [[nodiscard]] bool raised() const { return interrupt_ != nullptr && interrupt_->raised(); }

 private:
  void Tell(Mutex* mutex, CondVar* changed) {
    if (interrupt_ == nullptr) return;
    MutexLock lock(interrupt_->mutex_);
    interrupt_->waited_under_ = mutex;
    interrupt_->changed_ = changed;
  }

  Interrupt* const interrupt_;
};

}  // namespace sti
