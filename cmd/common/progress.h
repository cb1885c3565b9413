#pragma once

#include <string>

#include "base/log.h"

namespace sti {

/// A bar on stderr: what is done, how fast, and how long the rest will take. It redraws at most ten
/// times a second and clears itself at the end.
ProgressSink MakeProgressBar(std::string what);

}  // namespace sti
