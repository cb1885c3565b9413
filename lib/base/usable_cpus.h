// How many threads are worth starting: more than the system lets run at once only get in each
// other's way.
#pragma once

#include <cstdint>
#include <string>

namespace sti {

/// CPUs whose time the control groups of this process leave it, a part of one counted as one: the
/// smallest quota of its own group and those above, of version 1 (cpu.cfs_quota_us over
/// cpu.cfs_period_us) and version 2 (cpu.max). 0 if there is no quota, or none that can be read.
/// Reads `root`/proc and the groups' files below `root`, which is "" but in tests. Thread-safe.
uint32_t QuotaCpus(const std::string& root = "");

/// CPUs that this process may keep busy: its affinity, or its quota where that is smaller; at least
/// 1. The quota is the one that a process had when it first asked, since finding it out takes a
/// tenth of a millisecond and more. Thread-safe.
uint32_t UsableCpus();

}  // namespace sti
