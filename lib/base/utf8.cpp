#include "base/utf8.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sti {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

/// A lead byte says how many bytes follow, and the range of the first of them, which
/// excludes overlong forms, surrogates and code points past U+10FFFF.
struct Lead {
  uint32_t follow = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
};

Lead LeadOf(uint8_t byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {1};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

// Takes one code point off the front; nothing if its bytes are not UTF-8.
std::optional<char32_t> TakeValid(std::string_view* text) {
  constexpr std::string_view kSpelledReplacement = "\xEF\xBF\xBD";
  const bool spelled = text->starts_with(kSpelledReplacement);
  const char32_t code = TakeCodePoint(text);
  if (code == kReplacement && !spelled) return std::nullopt;
  return code;
}

bool IsControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code <= 0x9F); }

}  // namespace

char32_t TakeCodePoint(std::string_view* text) {
  const auto first = static_cast<uint8_t>(text->front());
  text->remove_prefix(1);
  if (first < 0x80) return first;
  Lead lead = LeadOf(first);
  if (lead.follow == 0) return kReplacement;
  char32_t code = first & (0x3Fu >> lead.follow);
  for (uint32_t i = 0; i < lead.follow; ++i) {
    if (text->empty()) return kReplacement;
    const auto next = static_cast<uint8_t>(text->front());
    if (next < lead.low || next > lead.high) return kReplacement;
    code = (code << 6) | (next & 0x3Fu);
    text->remove_prefix(1);
    lead.low = 0x80;
    lead.high = 0xBF;
  }
  return code;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    if (!TakeValid(&text)) return false;
  }
  return true;
}

bool IsPrintable(std::string_view text) {
  while (!text.empty()) {
    const auto code = TakeValid(&text);
    if (!code || IsControl(*code)) return false;
  }
  return true;
}

bool IsPlainText(std::string_view text, size_t most_bytes) {
  return text.size() <= most_bytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool MovesText(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool HasMovingText(std::string_view text) {
  while (!text.empty()) {
    if (MovesText(TakeCodePoint(&text))) return true;
  }
  return false;
}

std::string MakePrintable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const std::string_view before = text;
    const auto code = TakeValid(&text);
    if (code && !IsControl(*code) && !MovesText(*code)) {
      printable += before.substr(0, before.size() - text.size());
    } else {
      printable += '?';
    }
  }
  return printable;
}

std::string Clipped(std::string_view text) {
  constexpr size_t kMostBytes = 50;
  constexpr std::string_view kDots = "...";
  if (text.size() <= kMostBytes) return std::string(text);
  return std::string(text.substr(0, kMostBytes - kDots.size())).append(kDots);
}

}  // namespace sti
