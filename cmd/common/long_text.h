// An input on its way to stdout. It may be a line of a mebibyte, which is held once: it goes out in
// pieces, so that nobody copies it whole to spell it for JSON or for a terminal.
#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sti {

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

}  // namespace sti
