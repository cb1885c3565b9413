// Lines of text from a descriptor. A tool that answers line by line has to see a signal while it
// waits for the next one, which streams of the standard library do not tell.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace sti {

/// Lines from a file descriptor, split at LF (a CR before it is dropped, and a byte order mark
/// before the first). A signal ends the input, as does its end; a last line without LF counts.
/// Lines above the limit come cut, marked.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{1} << 20;
  static constexpr size_t kLongLineBytes = size_t{64} << 10;

  explicit LineReader(int fd) : fd_(fd) {}

  struct Line {
    std::string text;
    bool too_long = false;
    /// Whether the memory of the line is worth giving back once it has been answered.
    [[nodiscard]] bool is_long() const { return text.capacity() > kLongLineBytes; }
    /// Returns an error if the line is too long to be used.
    [[nodiscard]] Status usable() const {
      return too_long ? Status(DataError("a line over 1 MiB")) : Status();
    }
  };
  Result<std::optional<Line>> Next();
  /// Waits at most so long for input, its end, or a signal that asks to stop; false if none of them
  /// came, at once after any other signal.
  [[nodiscard]] bool Wait(double time_us);

 private:
  [[nodiscard]] Result<bool> Fill();

  int fd_;
  std::string buffer_;
  size_t at_ = 0;
  bool ended_ = false;
  bool begun_ = false;  ///< a line was read
};

}  // namespace sti
