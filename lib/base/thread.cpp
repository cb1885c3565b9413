#include "base/thread.h"

#include <pthread.h>
#include <sched.h>

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

void RankAboveMaker() {
  int policy = SCHED_OTHER;
  sched_param rank{};
  if (::pthread_getschedparam(::pthread_self(), &policy, &rank) != 0) return;
  if (policy != SCHED_FIFO && policy != SCHED_RR) return;
  ++rank.sched_priority;  // inherited until now
  (void)::pthread_setschedparam(::pthread_self(), policy, &rank);
}

}  // namespace sti
