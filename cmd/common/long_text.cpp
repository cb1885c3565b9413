#include "common/long_text.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "base/json_line.h"

namespace sti {
namespace {

constexpr size_t kPieceBytes = 4096;

// Returns where a piece that begins at `at` ends. A byte that continues no character may begin a
// piece, and so may one behind three that do, since no character has more.
size_t EndOfPiece(std::string_view text, size_t at) {
  const size_t end = std::min(at + kPieceBytes, text.size());
  const auto continues = [&](size_t i) { return (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80; };
  if (end == text.size()) return end;
  for (size_t back = 0; back < 4; ++back) {
    if (!continues(end - back)) return end - back;
  }
  return end;
}

}  // namespace

void ForEachPiece(std::string_view text, const std::function<void(std::string_view)>& take) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = EndOfPiece(text, at);
    take(text.substr(at, end - at));
    at = end;
  }
}

void JsonLinePrinter::Write(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), file_);
}

void JsonLinePrinter::Begin() { Write(std::exchange(begun_, true) ? "," : "{"); }

void JsonLinePrinter::Add(const nlohmann::ordered_json& fields) {
  if (fields.empty()) return;
  Begin();
  const std::string line = JsonLine(fields);
  Write(std::string_view(line).substr(1, line.size() - 2));  // without its braces
}

void JsonLinePrinter::AddText(std::string_view name, std::string_view text) {
  Begin();
  Write(JsonLine(name));
  Write(":\"");
  ForEachPiece(text, [this](std::string_view piece) {
    const std::string quoted = JsonLine(piece);
    Write(std::string_view(quoted).substr(1, quoted.size() - 2));
  });
  Write("\"");
}

void JsonLinePrinter::End() { Write(std::exchange(begun_, false) ? "}\n" : "{}\n"); }

}  // namespace sti
