// Work is done aside, on a thread of its own, so that the caller who waits for it can be
// interrupted. A read that hangs in the system cannot be called back: the caller returns, and the
// work is *left behind*, still running, until its read has come.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <thread>

#include "base/interrupt.h"
#include "base/mutex.h"
#include "base/result.h"

namespace sti {

/// Does one piece of work at a time. One thread at a time calls; only left_behind() is for the
/// thread of the work too. The destructor waits for the work.
class Aside {
 public:
  /// `interrupt` ends the waits of this object and outlives it.
  explicit Aside(Interrupt& interrupt) : interrupt_(interrupt) {}
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Waits for work left behind, then does `work` and returns, or throws, what it does. Returns
  /// kCancelled once the interrupt is raised, and kMachine where the system gives no thread. After
  /// kCancelled `work` may still run, and use what it was given, until FinishLeftBehind succeeds;
  /// after any other return it has ended.
  [[nodiscard]] Status Do(std::function<Status()> work) STI_EXCLUDES(mutex_);
  /// Waits until work left behind has ended. It fails only with kCancelled, by the interrupt.
  [[nodiscard]] Status FinishLeftBehind() STI_EXCLUDES(mutex_);
  /// Returns whether the work that runs is left behind. Work asks this to end early.
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
