// Text for people: formatted numbers, and lines that fit a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace sti {

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
