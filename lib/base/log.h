// The logging seam: the library says things to whoever listens, and to nobody by default.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sti {

enum class LogLevel { kInfo, kWarning };

/// Called from whichever thread has something to say; must be thread-safe. May be empty.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Progress of long work: `done` of `total` steps. May be empty. Called from one thread.
using ProgressSink = std::function<void(uint64_t done, uint64_t total)>;

/// Asked between steps of long work: true means stop soon. May be empty.
using CancelCheck = std::function<bool()>;

}  // namespace sti
