// How the library speaks during a call: lines of a log, progress, and the question whether to stop.
// They go to whoever listens, and to nobody by default.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sti {

enum class LogLevel : uint8_t { kInfo, kWarning };

/// Something worth knowing that ends nothing, in one line.
struct LogLine {
  LogLevel level = LogLevel::kInfo;
  std::string what;
  Remedy remedy = {};
};

/// Called from whichever thread has something to say; must be thread-safe. May be empty.
using LogSink = std::function<void(const LogLine&)>;

/// Progress of long work: `done` of `total` steps. May be empty. Called from one thread.
using ProgressSink = std::function<void(uint64_t done, uint64_t total)>;

/// Asked between steps of long work: true means stop soon. May be empty.
using CancelCheck = std::function<bool()>;

/// Returns "1 layer", "6 layers" or "0 layers" of a noun that takes an s for more than one.
inline std::string Counted(uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

/// Returns texts as the alternatives that they are: "a", "a or b", "a, b or c".
inline std::string EitherOf(std::span<const std::string> texts) {
  std::string text;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) text += i + 1 < texts.size() ? ", " : " or ";
    text += texts[i];
  }
  return text;
}

}  // namespace sti
