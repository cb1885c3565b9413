#include "base/thread_rank.h"

#include <pthread.h>
#include <sched.h>

namespace sti {

void RankAboveMaker() {
  int policy = SCHED_OTHER;
  sched_param rank{};
  if (::pthread_getschedparam(::pthread_self(), &policy, &rank) != 0) return;
  if (policy != SCHED_FIFO && policy != SCHED_RR) return;
  ++rank.sched_priority;  // inherited until now
  (void)::pthread_setschedparam(::pthread_self(), policy, &rank);
}

}  // namespace sti
