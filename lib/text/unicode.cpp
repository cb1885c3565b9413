#include "text/unicode.h"

#include <utf8proc.h>

namespace sti {
namespace {

const utf8proc_property_t& PropertyOf(char32_t code) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(code));
}

}  // namespace

std::string UnicodeVersion() { return utf8proc_unicode_version(); }

void AppendUtf8(char32_t code, std::string* out) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  out->append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size));
}

bool IsWhiteSpace(char32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 0x09 && code <= 0x0D);
  if (code == 0x85) return true;
  const auto category = PropertyOf(code).category;
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

bool IsControl(char32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  if (code < 0x7F) return code < 0x20;
  const auto category = PropertyOf(code).category;
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

bool IsPunctuation(char32_t code) {
  if (code < 0x80) {
    return (code >= 0x21 && code <= 0x2F) || (code >= 0x3A && code <= 0x40) ||
           (code >= 0x5B && code <= 0x60) || (code >= 0x7B && code <= 0x7E);
  }
  const auto category = PropertyOf(code).category;
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsLetter(char32_t code) {
  if (code < 0x80) return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  const auto category = PropertyOf(code).category;
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsNumber(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  const auto category = PropertyOf(code).category;
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

// U+2B820 to U+2B91F are ideographs that the reference tokenizer leaves out; we follow it.
bool IsIdeograph(char32_t code) {
  if (code < 0x3400) return false;
  return code <= 0x4DBF || (code >= 0x4E00 && code <= 0x9FFF) ||
         (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x20000 && code <= 0x2A6DF) ||
         (code >= 0x2A700 && code <= 0x2B81F) || (code >= 0x2B920 && code <= 0x2CEAF) ||
         (code >= 0x2F800 && code <= 0x2FA1F);
}

bool IsNonspacingMark(char32_t code) {
  return code >= 0x300 && PropertyOf(code).category == UTF8PROC_CATEGORY_MN;
}

uint32_t CombiningClass(char32_t code) {
  return code < 0x300 ? 0 : static_cast<uint32_t>(PropertyOf(code).combining_class);
}

CodePoints Decompose(char32_t code) {
  CodePoints result{{code}, 1};
  if (code < 0xC0) return result;
  std::array<utf8proc_int32_t, 8> buffer{};
  int boundary = 0;
  const auto size = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), buffer.data(),
                                            std::ssize(buffer), UTF8PROC_DECOMPOSE, &boundary);
  if (size < 1 || size > std::ssize(buffer)) return result;
  result.size = static_cast<uint32_t>(size);
  for (uint32_t i = 0; i < result.size; ++i) result.codes[i] = static_cast<char32_t>(buffer[i]);
  return result;
}

CodePoints Lowercase(char32_t code) {
  if (code < 0x80) return {{code >= 'A' && code <= 'Z' ? code + 0x20 : code}, 1};
  // The one code point whose lower case is two, whatever surrounds it.
  if (code == 0x130) return {{'i', 0x307}, 2};
  return {{static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)))}, 1};
}

}  // namespace sti
