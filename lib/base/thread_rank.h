// The rank of a thread among those that the system schedules in real time.
#pragma once

namespace sti {

/// Puts the calling thread one level above the one that made it, if that one is scheduled in real
/// time (SCHED_FIFO, SCHED_RR) and the system allows it; else nothing changes. It is for threads
/// that need a core for microseconds, beside others that keep it for milliseconds.
void RankAboveMaker();

}  // namespace sti
