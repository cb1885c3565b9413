#include "base/quiet_thread.h"

#include <pthread.h>

namespace sti {

SignalsHeld::SignalsHeld() {
  sigset_t held;
  sigfillset(&held);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF}) {
    sigdelset(&held, own);
  }
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace sti
