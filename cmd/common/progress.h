// Progress of a long job, for a person at a terminal.
#pragma once

#include <string>

#include "base/log.h"

namespace sti {

/// A bar on stderr: what is done, how fast, and how long the rest will take. It redraws at most ten
/// times a second and clears itself at the end. The rate is in `unit`s of `steps` steps a second.
ProgressSink MakeProgressBar(std::string what, std::string unit = "", uint64_t steps = 1);

}  // namespace sti
