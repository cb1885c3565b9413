// The machine's name, which files keep for people who read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sti {

/// "Intel(R) Xeon(R) Processor, 2 cores, Linux 6.1": for people who read a profile.
std::string MachineName();

/// Cores this process may run on, ascending.
std::vector<uint32_t> AffinityCores();

/// Returns the cores that this process may run on as "0-3,8".
std::string AffinityList();

/// Keeps this process to `cores`, of which it must be allowed to use all; kMachine otherwise, and
/// nothing has changed.
Status KeepToCores(std::span<const uint32_t> cores);

/// Keeps this process to the cores of --cpus; kUsage that names the option where it may not run on
/// them. Nothing if there are none.
Status TakeCpusOption(std::span<const uint32_t> cores);

/// Keeps the native kernels to the instruction set of --instructions, to play a smaller CPU; kUsage
/// that names those of this machine where it has no such set. Nothing if `name` is empty. Before
/// any kernel runs.
Status TakeInstructionsOption(const std::string& name);

}  // namespace sti
