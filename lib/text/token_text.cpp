#include "text/token_text.h"

#include <array>
#include <string_view>

#include "base/utf8.h"

namespace sti {
namespace {

constexpr uint32_t kCharacters = 0x144;  // all that spell bytes are below
constexpr uint16_t kNoByte = 256;
constexpr size_t kLongestCharacter = 4;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The byte that each character spells; kNoByte for those that spell none.
constexpr auto kByteOf = [] {
  std::array<uint16_t, kCharacters> bytes{};
  bytes.fill(kNoByte);
  for (uint16_t byte = 0; byte < kNoByte; ++byte)
    bytes[ByteCharacter(static_cast<uint8_t>(byte))] = byte;
  return bytes;
}();

// Returns whether bytes are a character but for bytes at its end: then more may come.
bool MayGoOn(std::string_view bytes) {
  if (bytes.empty() || bytes.size() >= kLongestCharacter) return false;
  // Followed by what goes on, a well begun character takes it, and one that is broken does not.
  std::string longer(bytes);
  longer += '\x80';
  for (const char next : {'\x80', '\xA0', '\x90'}) {
    longer.back() = next;
    std::string_view rest = longer;
    (void)TakeCodePoint(&rest);
    if (rest.empty()) return true;
  }
  return false;
}

}  // namespace

TokenText::TokenText(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

std::string TokenText::Add(uint32_t id) {
  AppendBytes(vocabulary_.Token(id));
  return TakeWhole(false);
}

std::string TokenText::Finish() { return TakeWhole(true); }

// A token of which a character spells no byte, as one that was added, stands for itself.
void TokenText::AppendBytes(std::string_view token) {
  std::string bytes;
  for (std::string_view rest = token; !rest.empty();) {
    const char32_t code = TakeCodePoint(&rest);
    if (code >= kCharacters || kByteOf[code] == kNoByte) {
      held_ += token;
      return;
    }
    bytes += static_cast<char>(kByteOf[code]);
  }
  held_ += bytes;
}

std::string TokenText::TakeWhole(bool is_end) {
  std::string text;
  std::string_view rest = held_;
  while (!rest.empty()) {
    if (!is_end && MayGoOn(rest)) break;
    const std::string_view before = rest;
    (void)TakeCodePoint(&rest);
    const std::string_view character = before.substr(0, before.size() - rest.size());
    text += IsUtf8(character) ? character : kReplacement;
  }
  held_.erase(0, held_.size() - rest.size());
  return text;
}

}  // namespace sti
