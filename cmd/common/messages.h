// The messages of a tool, one line each on stderr: text for a person, or a JSON object for a
// machine; and the bar of a long job. Only messages.cpp knows spdlog, which writes messages,
// because it takes long to compile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"

namespace spdlog {
class logger;
}  // namespace spdlog

namespace sti {

/// How grave a message is, the gravest last.
enum class MessageLevel : uint8_t {
  kDebug,    ///< explains what is done
  kInfo,     ///< says what was done
  kWarning,  ///< something is not as it should be, and ends nothing
  kError,    ///< makes the exit code
};

/// Writes the messages of one tool. Any thread may write; the other calls come before.
class Messages {
 public:
  /// Writes messages of `tool` from kInfo on, as "tool: line", a warning as "tool: warning: line".
  explicit Messages(std::string tool);
  ~Messages();

  /// Leaves out what is less grave than `least`.
  void SetLeast(MessageLevel least);
  /// Writes {"level": ..., "tool": ..., "message": ...} from now on.
  void UseJson();

  /// Writes one line. Whatever bytes it has from a file, a path or an argument, what is written is
  /// printable (base/utf8.h).
  void Write(MessageLevel level, std::string_view line) const;

 private:
  std::unique_ptr<spdlog::logger> logger_;
};

/// A bar on stderr: what is done, how fast, and how long the rest will take. It redraws at most ten
/// times a second and clears itself at the end. The rate is in `unit`s of `steps` steps a second.
ProgressSink MakeProgressBar(std::string what, std::string unit = "", uint64_t steps = 1);

}  // namespace sti
