// What the tests of the three small files share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sti::test {

inline std::span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

using Bin = std::vector<uint8_t>;
/// Parses and says how it went.
using Parse = std::function<Status(std::span<const uint8_t>)>;

/// Every flipped byte and every truncation must be refused, as damaged input.
inline void ExpectDamageIsFound(const Bin& file, const Parse& parse) {
  ASSERT_TRUE(parse(file).ok());
  for (size_t i = 0; i < file.size(); ++i) {
    for (uint8_t mask : std::initializer_list<uint8_t>{0x01, 0x80, 0xFF}) {
      Bin damaged = file;
      damaged[i] ^= mask;
      const Status status = parse(damaged);
      ASSERT_FALSE(status.ok()) << "byte " << i;
      ASSERT_EQ(status.error().kind, ErrorKind::kData);
    }
    ASSERT_FALSE(parse(std::span(file).first(i)).ok()) << "cut at " << i;
  }
  Bin longer = file;
  longer.push_back(0);
  ASSERT_FALSE(parse(longer).ok());
}

/// `text` with its first `from` replaced must be refused with `words` in the message.
inline void ExpectRefused(std::string text, const std::string& from, const std::string& to,
                          const std::string& words, const Parse& parse) {
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const Status status = parse(Bytes(text));
  ASSERT_FALSE(status.ok()) << words;
  EXPECT_EQ(status.error().kind, ErrorKind::kData);
  EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
  EXPECT_EQ(status.error().message.rfind("a.file: ", 0), 0u) << status.error().message;
}

}  // namespace sti::test
