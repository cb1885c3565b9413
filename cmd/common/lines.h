// Lines of text: read from a descriptor, broken where a terminal ends, and printed. A tool that
// answers line by line has to see a signal while it waits for the next one, which streams of the
// standard library do not tell. An input may be a line of a mebibyte, which is held once: it goes
// to stdout in pieces, so that nobody copies it whole to spell it for JSON or for a terminal.
#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "types/limits.h"

namespace sti {

/// Lines from a file descriptor, split at LF (a CR before it is dropped, and a byte order mark
/// before the first). A signal ends the input, as does its end; a last line without LF counts.
/// Lines above the limit come cut, marked.
class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = sti::kMaxLineBytes;
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

/// Calls `take` with one piece of a text after another, each of a few kilobytes. No character of
/// UTF-8 is divided, nor anything that a decoder replaces by one U+FFFD.
void ForEachPiece(std::string_view text, const std::function<void(std::string_view)>& take);

/// Prints one JSON object in one line: the bytes that JsonLine gives for all fields together.
class JsonLinePrinter {
 public:
  explicit JsonLinePrinter(std::FILE* file) : file_(file) {}

  /// Prints the fields of an object.
  void Add(const nlohmann::ordered_json& fields);
  /// Prints a field that is a text of any bytes.
  void AddText(std::string_view name, std::string_view text);
  void End();

 private:
  void Begin();
  void Write(std::string_view bytes);

  std::FILE* file_;
  bool begun_ = false;
};

/// Returns what printf would print, at most 255 characters of it.
template <typename... Values>
std::string Format(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof(buffer), format, values...);  // NOLINT: callers have literals
  return buffer;
}

/// Returns the line broken at blanks into lines of at most 80 columns, where its words allow;
/// `indent` begins every line but the first. No line feed at the end.
std::string Wrapped(std::string_view line, std::string_view indent = "");

}  // namespace sti
