// An interrupt ends another thread's wait, and what it waits for: an app that no longer wants an
// answer need not sit out a read that hangs.
#pragma once

#include <atomic>
#include <utility>

#include "base/mutex.h"

namespace sti {

class InterruptibleWait;

/// A flag that a call's threads work and wait under, and that any thread may raise. It stays raised
/// until it is cleared.
class Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Raises the flag and wakes all threads that wait under it. Thread-safe.
  void Raise() STI_EXCLUDES(mutex_);
  void Clear() { raised_.store(false); }
  [[nodiscard]] bool raised() const { return raised_.load(); }

 private:
  friend class InterruptibleWait;
  std::atomic<bool> raised_{false};
  Mutex mutex_;
  InterruptibleWait* first_ STI_GUARDED_BY(mutex_) =
      nullptr;  ///< of the waits; each knows the next
};

/// Lets Raise wake a thread that waits for `changed` under `mutex`, for as long as this lives. It
/// is made before `mutex` is locked, and the loop of the wait asks raised(). `interrupt` null:
/// nothing is ever raised.
class InterruptibleWait {
 public:
  InterruptibleWait(Interrupt* interrupt, Mutex& mutex, CondVar& changed)
      : interrupt_(interrupt), mutex_(mutex), changed_(changed) {
    if (interrupt_ == nullptr) return;
    MutexLock lock(interrupt_->mutex_);
    next_ = std::exchange(interrupt_->first_, this);
  }
  ~InterruptibleWait() {
    if (interrupt_ == nullptr) return;
    MutexLock lock(interrupt_->mutex_);
    InterruptibleWait** at = &interrupt_->first_;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
  }
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  [[nodiscard]] bool raised() const { return interrupt_ != nullptr && interrupt_->raised(); }

 private:
  friend class Interrupt;
  void Wake() {
    {
      // Whoever has found the flag down under this lock is asleep once it is free.
      MutexLock lock(mutex_);
    }
    changed_.NotifyAll();
  }

  Interrupt* const interrupt_;
  Mutex& mutex_;
  CondVar& changed_;
  InterruptibleWait* next_ = nullptr;  ///< guarded by the interrupt's lock
};

inline void Interrupt::Raise() {
  MutexLock lock(mutex_);
  raised_.store(true);
  for (InterruptibleWait* wait = first_; wait != nullptr; wait = wait->next_) wait->Wake();
}

}  // namespace sti
