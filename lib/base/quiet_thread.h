// Threads of the library leave the signals of a process to the threads of whoever runs it: a
// program may count on its own thread to see a signal that came before the input that it reads
// next.
#pragma once

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

}  // namespace sti
