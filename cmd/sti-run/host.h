// The process of sti-run and its surroundings: cores and their clock, its place before other
// processes, its heap, and its age.
#pragma once

#include <cstdint>
#include <span>

#include "common/tool.h"
#include "options.h"
#include "types/plan.h"

namespace sti {

/// Remembers when main began; call it first.
void NoteMain();

/// Microseconds since the process was started, of which a cold start's latency is counted: since
/// main, and the CPU time spent before it, by the system, the dynamic linker and static
/// initialisers.
double AgeUs();

/// Returns freed memory to the system. It would stay with the C library's allocator.
void GiveHeapBack();

/// Puts this thread, and all that it starts from here on, ahead of other processes: real-time
/// scheduling of the lowest rank, and reads of the highest class that the system allows. Warns of
/// what could not be had.
void TakePriority(const Tool& tool);

/// Keeps the process to the cores of the options or of the plans, and returns how many threads the
/// compute lane gets, which all models share: as many as all plans together count on, if there are
/// so many. Warns where plans made by a measured profile ask for cores or threads that are not
/// there, or for different cores, and takes what there is. kUsage for cores of the options that are
/// not there.
Result<uint32_t> TakeCores(const RunOptions& options, std::span<const Plan* const> plans,
                           const Tool& tool);

/// The highest clock in kHz that the system allows the cores of this process now, of the slowest of
/// them: a layer is done when its last core is. A plan of several clocks chooses its variant by it.
/// 0 where the system does not tell.
uint64_t ClockLimitKhz();

}  // namespace sti
