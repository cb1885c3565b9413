// Inputs of any bytes that are printed piece by piece.

#include "common/lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/json.h"
#include "support/random.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

// Texts longer than a piece, of characters and of bytes that are none, in any order.
std::string RandomText(TestRandom& random) {
  const std::string parts[] = {
      "a",      "\"",     "\\",         "\n",           std::string(1, '\0'), "\x01",
      "\u00E9", "\u2028", "\U0001F642", "\xF0",         "\xF0\x9F",           "\xE2\x80",
      "\xC3",   "\x80",   "\xFF",       "\xED\xA0\x80", "\xF4\x90\x80\x80"};
  std::string text;
  while (text.size() < 10'000) {
    const std::string& part = parts[random.Below(std::size(parts))];
    const uint64_t times = random.Below(20) == 0 ? random.Below(300) : 1;
    for (uint64_t i = 0; i <= times; ++i) text += part;
  }
  return text;
}

std::string Printed(const Json& before, const std::string& text, const Json& behind) {
  char* bytes = nullptr;
  size_t size = 0;
  std::FILE* file = open_memstream(&bytes, &size);
  JsonLinePrinter printer(file);
  printer.Add(before);
  printer.AddText("text", text);
  printer.Add(behind);
  printer.End();
  std::fclose(file);
  std::string line(bytes, size);
  std::free(bytes);
  return line;
}

TEST(LongText, PiecesGiveTheBytesOfTheWhole) {
  TestRandom random(7);
  const Json none = Json::object();
  const Json fields{{"label", "a\"b"}, {"scores", {0.5, 1}}};
  for (int round = 0; round < 100; ++round) {
    const std::string text = RandomText(random);
    std::string together;
    size_t most = 0;
    ForEachPiece(text, [&](std::string_view piece) {
      together += piece;
      most = std::max(most, piece.size());
    });
    EXPECT_EQ(together, text);
    EXPECT_LT(most, text.size());
    Json whole{{"text", text}};
    EXPECT_EQ(Printed(none, text, none), JsonLine(whole) + "\n");
    whole.update(fields);
    EXPECT_EQ(Printed(none, text, fields), JsonLine(whole) + "\n");
    const Json named{{"model", "m"}, {"text", text}};
    EXPECT_EQ(Printed({{"model", "m"}}, text, none), JsonLine(named) + "\n");
  }
  EXPECT_EQ(Printed(none, "", none), "{\"text\":\"\"}\n");
}

}  // namespace

}  // namespace sti
