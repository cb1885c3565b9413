// Threads of the library leave the signals of a process to the threads of whoever runs it: a
// program may count on its own thread to see a signal that came before the input that it reads
// next. A thread that needs a core for microseconds ranks above the one that made it. And each
// rounds as usual: an app may have set its own floating-point environment, which threads that it
// makes inherit, and what is computed here must not depend on that.
#pragma once

#include <cfenv>
#include <csignal>
#include <thread>
#include <utility>

namespace sti {

/// Holds signals back from the calling thread, and so from threads that it starts, while it lives;
/// but for those by which a thread tells of its own faults.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

/// Starts a thread that takes no signal of the process. Throws as std::thread does.
template <typename F>
std::thread StartQuietThread(F&& work) {
  const SignalsHeld held;
  return std::thread(std::forward<F>(work));
}

/// Puts the calling thread one level above the one that made it, if that one is scheduled in real
/// time (SCHED_FIFO, SCHED_RR) and the system allows it; else nothing changes. It is for threads
/// that need a core for microseconds, beside others that keep it for milliseconds.
void RankAboveMaker();

/// Has its thread round to nearest, trap nothing and keep tiny numbers while it lives; puts back
/// what was, flags too.
class UsualFloats {
 public:
  UsualFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~UsualFloats() { std::fesetenv(&before_); }
  UsualFloats(const UsualFloats&) = delete;
  UsualFloats& operator=(const UsualFloats&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace sti
