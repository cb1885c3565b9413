#include "common/signals.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "base/temporary.h"

namespace sti {
namespace {

// SIGXCPU is the first of those that a batch system sends before it kills.
constexpr std::array kAsking{SIGHUP, SIGINT, SIGTERM, SIGXCPU};

volatile std::sig_atomic_t g_stop_signal = 0;
volatile std::sig_atomic_t g_hangup = 0;

bool Asks(int number) { return std::find(kAsking.begin(), kAsking.end(), number) != kAsking.end(); }

// Whether a signal that is not handled ends a process.
bool Ends(int number) {
  constexpr std::array kOthers{SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                               SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};
  return std::find(kOthers.begin(), kOthers.end(), number) == kOthers.end();
}

// Leaves alone what somebody else handles or ignores: a parent, a sanitizer, ListenForHangup.
void Handle(int number, void (*handler)(int), int flags, void (*only_if)(int)) {
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != only_if) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

// Ends the process as the signal would have: its handling is the usual one again, and it is held
// back until this returns.
void EndNow(int number) {
  RemoveTemporaries();
  std::raise(number);
}

void Ask(int number) {
  g_stop_signal = number;
  for (const int other : kAsking) Handle(other, EndNow, static_cast<int>(SA_RESETHAND), Ask);
}

void TakeNote(int /*number*/) { g_hangup = 1; }

}  // namespace

void HandleSignals() {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (Asks(number)) {
      Handle(number, Ask, SA_RESTART, SIG_DFL);
    } else if (Ends(number)) {
      Handle(number, EndNow, static_cast<int>(SA_RESETHAND), SIG_DFL);
    }
  }
  // Writes fail in their stead, and say why.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int StopSignal() { return g_stop_signal; }

void ListenForHangup(bool also_ignored) {
  Handle(SIGHUP, TakeNote, SA_RESTART, Ask);
  if (also_ignored) Handle(SIGHUP, TakeNote, SA_RESTART, SIG_IGN);
}

bool TakeHangup() {
  const bool came = g_hangup != 0;
  g_hangup = 0;
  return came;
}

}  // namespace sti
