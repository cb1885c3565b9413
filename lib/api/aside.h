// Work that is done aside, on a thread of its own, so that whoever waits for it can be interrupted.
// A read that hangs in the system cannot be called back: the one who waits for it goes away, and
// the work is left behind until its read has come.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/result.h"

namespace sti {

/// One piece of work at a time. One thread at a time; destroying it waits for the work.
class Aside {
 public:
  /// `interrupt` ends waits, and outlives this.
  explicit Aside(Interrupt& interrupt) : interrupt_(interrupt) {}
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Waits for work left behind, then does `work` and returns, or throws, what it does. Returns
  /// kCancelled once the interrupt is raised, and kMachine where the system gives no thread. What
  /// the work uses is in use until it is done: when this returns, but after kCancelled when Settle
  /// has succeeded.
  [[nodiscard]] Status Do(std::function<Status()> work) STI_EXCLUDES(mutex_);
  /// Waits for work left behind. It fails only if it is interrupted.
  [[nodiscard]] Status Settle() STI_EXCLUDES(mutex_);
  /// Returns whether nobody wants the work any more, which may ask this.
  [[nodiscard]] bool left_behind() const { return left_behind_; }

 private:
  void Work() STI_EXCLUDES(mutex_);

  Interrupt& interrupt_;
  std::atomic<bool> left_behind_{false};
  std::function<Status()> work_;
  Status status_;              ///< what `work_` returned
  std::exception_ptr thrown_;  ///< what it threw instead
  Mutex mutex_;
  CondVar ended_;
  bool done_ STI_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sti
