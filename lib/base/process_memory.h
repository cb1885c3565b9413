// The memory of this process, as the kernel counts it.
#pragma once

#include <cstdint>

namespace sti {

/// Return the resident memory of this process in bytes, now and at most so far (VmRSS and VmHWM of
/// /proc/self/status); 0 where the kernel does not tell.
uint64_t CurrentRssBytes();
uint64_t PeakRssBytes();

/// Returns the memory in bytes that this process has resident once the code that it runs is: what
/// is not of a file as it is now, and of the mapped files (program and libraries) three quarters,
/// or all that is resident now. A fault brings in the pages around it, as far as the addresses'
/// alignment allows, so that starts of sti-run differ by a megabyte in what they hold of its 6.4 MB
/// of files; after its first answer it holds 0.71 to 0.79 of them. CurrentRssBytes() where the
/// kernel does not tell.
uint64_t SettledRssBytes();

/// Gives memory that was freed, and that the C library keeps for its next allocations, back to the
/// system; for when much was freed that will not be needed again. Does nothing where the library
/// cannot. Takes milliseconds. Thread-safe.
void GiveBackFreeMemory();

}  // namespace sti
