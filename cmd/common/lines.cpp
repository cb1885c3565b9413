#include "common/lines.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "common/tool.h"

namespace sti {

Result<bool> LineReader::Fill() {
  if (ended_) return false;
  buffer_.erase(0, at_);
  at_ = 0;
  constexpr size_t kRead = size_t{64} << 10;
  const size_t size = buffer_.size();
  for (;;) {
    if (StopRequested()) return false;
    if (!Wait(1e6)) continue;
    if (StopRequested()) return false;
    buffer_.resize(size + kRead);
    const ssize_t count = ::read(fd_, buffer_.data() + size, kRead);
    buffer_.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    // Somebody else may have had what was there.
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      return Error{ErrorKind::kReadFailed, std::string("cannot read: ") + std::strerror(errno)}.At(
          "stdin");
    }
    if (count == 0) ended_ = true;
    return count > 0;
  }
}

bool LineReader::Wait(double time_us) {
  if (ended_ || at_ < buffer_.size()) return true;
  // In slices: a signal that comes just before poll does not end it.
  constexpr int64_t kSlice_ms = 1000;
  auto left_ms = static_cast<int64_t>(std::min(std::ceil(time_us / 1000), 1e12));
  for (; left_ms > 0; left_ms -= kSlice_ms) {
    pollfd input{fd_, POLLIN, 0};
    const int wait_ms = static_cast<int>(std::min(left_ms, kSlice_ms));
    if (StopRequested()) return true;
    const int ready = poll(&input, 1, wait_ms);
    if (ready < 0 && errno == EINTR && !StopRequested()) return false;
    if (ready != 0) return true;
  }
  return false;
}

Result<std::optional<LineReader::Line>> LineReader::Next() {
  Line line;
  for (;;) {
    size_t end = buffer_.find('\n', at_);
    bool found = end != std::string::npos;
    size_t stop = found ? end : buffer_.size();
    size_t room = kMaxLineBytes - line.text.size();
    line.too_long = line.too_long || stop - at_ > room;
    // Once, rather than growing: pages that are not written to take no memory.
    if (!line.text.empty() && line.text.capacity() < kMaxLineBytes)
      line.text.reserve(kMaxLineBytes);
    line.text.append(buffer_, at_, std::min(stop - at_, room));
    at_ = found ? stop + 1 : stop;
    if (found) break;
    STI_ASSIGN_OR_RETURN(bool more, Fill());
    if (more) continue;
    if (line.text.empty() || StopRequested()) return std::optional<Line>();
    break;
  }
  if (!line.text.empty() && line.text.back() == '\r') line.text.pop_back();
  if (!begun_) line.text.erase(0, line.text.size() - WithoutByteOrderMark(line.text).size());
  begun_ = true;
  return std::optional<Line>(std::move(line));
}

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

std::string Wrapped(std::string_view line, std::string_view indent) {
  constexpr size_t kColumns = 80;
  std::string text;
  size_t room = kColumns;
  while (line.size() > room) {
    size_t end = line.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = std::min(line.find(' '), line.size());
    text.append(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
    if (line.empty()) return text;
    text.append("\n").append(indent);
    room = kColumns - indent.size();
  }
  return text.append(line);
}

}  // namespace sti
