// Types and checks that the tests of the small files share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"

namespace sti::test {

using Bin = std::vector<uint8_t>;
/// Parses and says how it went.
using Parse = std::function<Status(std::span<const uint8_t>)>;

/// Refused as damaged input, in one line that names the file "a.file", the part, and what to do.
inline ::testing::AssertionResult NamesDamage(const Status& status) {
  if (status.ok()) return ::testing::AssertionFailure() << "it was read";
  const std::string message = status.error().Message();
  const bool advised = status.error().remedy != Remedy{} || message.find(';') != std::string::npos;
  bool named = message.find("a.file: ") == 0 && advised && message.find('\n') == std::string::npos;
  bool part = false;
  for (const char* words : {"header", "payload", "neither JSON", "format version"}) {
    part = part || message.find(words) != std::string::npos;
  }
  if (BlamesData(status.error().kind) && named && part) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << message;
}

/// Returns how parsing the bytes of "a.file" went, by the parser of its format.
template <auto kParse>
Status StatusOf(std::span<const uint8_t> file) {
  const auto parsed = kParse(file, "a.file");
  return parsed.ok() ? Status() : Status(parsed.error());
}

/// Every flipped byte and every truncation must be refused, as damaged input.
inline void ExpectDamageIsFound(const Bin& file, const Parse& parse) {
  ASSERT_TRUE(parse(file).ok());
  Bin damaged = file;
  for (size_t i = 0; i < file.size(); ++i) {
    for (uint8_t mask :
         std::initializer_list<uint8_t>{0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF}) {
      damaged[i] = static_cast<uint8_t>(file[i] ^ mask);
      ASSERT_TRUE(NamesDamage(parse(damaged))) << "byte " << i;
    }
    damaged[i] = file[i];
    ASSERT_TRUE(NamesDamage(parse(std::span(file).first(i)))) << "cut at " << i;
  }
  damaged.push_back(0);
  ASSERT_TRUE(NamesDamage(parse(damaged)));
}

/// `text` with its first `from` replaced must be refused with `words` in the message.
inline void ExpectRefused(std::string text, const std::string& from, const std::string& to,
                          const std::string& words, const Parse& parse) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const Status status = parse(AsBytes(text));
  ASSERT_FALSE(status.ok()) << words;
  EXPECT_EQ(status.error().kind, ErrorKind::kDamaged);
  EXPECT_NE(status.error().Message().find(words), std::string::npos) << status.error().Message();
  EXPECT_EQ(status.error().Message().rfind("a.file: ", 0), 0u) << status.error().Message();
}

}  // namespace sti::test
