// A small pool for loops over equal tasks. Idle workers sleep; they spin for a few microseconds
// first, because the loops of one layer follow each other within that time, unless there are more
// threads than the system lets run at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace sti {

/// A lock that callers get in the order in which they asked, so that nobody who comes back at once
/// starves the others.
class FairLock {
 public:
  void lock() {
    const uint32_t ticket = next_.fetch_add(1);
    for (uint32_t now = serving_.load(); now != ticket; now = serving_.load()) serving_.wait(now);
  }
  void unlock() {
    serving_.fetch_add(1);
    serving_.notify_all();
  }

 private:
  std::atomic<uint32_t> next_{0};
  std::atomic<uint32_t> serving_{0};
};

/// Runs loops on `threads` threads, the caller among them. Thread-safe: concurrent callers
/// come one after another. Not to be called from inside its own loop.
class ThreadPool {
 public:
  /// Starts `threads` - 1 workers: `threads` counts the caller, and 0 means 1.
  explicit ThreadPool(uint32_t threads);
  /// Starts threads - 1 workers on a system that runs `cpus` threads at once, where the other finds
  /// that out.
  ThreadPool(uint32_t threads, uint32_t cpus);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Returns the number of threads that run a loop, and the bound of `worker` below.
  [[nodiscard]] uint32_t threads() const { return threads_; }

  /// Calls body(index, worker) once for each index in [0, count), indexes handed out in order to
  /// whoever is free; returns when all are done. `worker` < threads() names the thread: no two
  /// calls at one time share it (0 is the caller). `body` must not throw. Allocates nothing.
  void ParallelFor(uint32_t count, FunctionRef<void(uint32_t index, uint32_t worker)> body);

 private:
  using Body = FunctionRef<void(uint32_t, uint32_t)>;

  void WorkerMain(uint32_t worker);
  bool RunOne(uint32_t worker);
  void WaitUntilDone(uint32_t count);

  uint32_t threads_;
  uint32_t spins_;  ///< before sleeping
  FairLock callers_;
  // (generation << 32) | next index. A generation is odd while the fields below are rewritten, so
  // that a late worker's claim fails rather than picks up half of the next loop.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<const Body*> body_{nullptr};
  std::atomic<uint32_t> count_{0};
  alignas(64) std::atomic<uint32_t> done_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};  ///< what idle workers sleep on
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace sti
