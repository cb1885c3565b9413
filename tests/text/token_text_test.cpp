#include "text/token_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "support/expect.h"

namespace sti {
namespace {

using Json = nlohmann::json;

const std::string kData = STI_SOURCE_DIR "/tests/data/";

// The tokens of vocab.json of a folder, one a line.
Vocabulary VocabularyOf(const std::string& folder) {
  std::ifstream file(kData + folder + "/vocab.json");
  const Json json = Json::parse(file);
  std::vector<std::string> tokens(json.size());
  for (const auto& [token, id] : json.items()) tokens.at(id.get<size_t>()) = token;
  std::string text;
  for (const std::string& token : tokens) text += token + "\n";
  return *Vocabulary::FromText(std::move(text));
}

std::vector<Json> LinesOf(const std::string& path) {
  std::ifstream file(kData + path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::string TextOf(TokenText& decoder, const std::vector<uint32_t>& ids) {
  std::string text;
  for (const uint32_t id : ids) {
    const std::string piece = decoder.Add(id);
    EXPECT_TRUE(IsUtf8(piece));
    text += piece;
  }
  return text + decoder.Finish();
}

TEST(TokenText, GivesBackWhatTransformersDoes) {
  const Vocabulary vocabulary = VocabularyOf("gpt2-tiny");
  TokenText decoder(vocabulary);
  const std::vector<Json> lines = LinesOf("gpt2-tiny/expected.jsonl");
  ASSERT_EQ(lines.size(), 7U);
  for (const Json& line : lines) {
    EXPECT_EQ(TextOf(decoder, line["ids"]), line["text"]);
    EXPECT_EQ(TextOf(decoder, line["made"]), line["made_text"]);
  }
}

// A token that its bytes do not end is held back until others end it, whatever stands behind.
TEST(TokenText, ACharacterWaitsForItsLastByte) {
  const Vocabulary vocabulary = VocabularyOf("gpt2-tiny");
  TokenText decoder(vocabulary);
  const auto add = [&](uint8_t byte) { return decoder.Add(*vocabulary.Find(ByteSpelling(byte))); };
  EXPECT_EQ(add(0xF0), "");
  EXPECT_EQ(add(0x9F), "");
  EXPECT_EQ(add(0x98), "");
  EXPECT_EQ(add(0x80), "\U0001F600");
  EXPECT_EQ(add(0xE2), "");
  EXPECT_EQ(add('a'), "\uFFFDa") << "what is broken is told as soon as that is known";
  EXPECT_EQ(add(0xE0), "");
  EXPECT_EQ(add(0x80), "\uFFFD\uFFFD") << "an overlong form never goes on";
  EXPECT_EQ(add(0x80), "\uFFFD");
  EXPECT_EQ(add(0xF4), "");
  EXPECT_EQ(add(0x90), "\uFFFD\uFFFD");
  EXPECT_EQ(add(0xC3), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD");
  EXPECT_EQ(decoder.Finish(), "");
  EXPECT_EQ(add(0xA9), "\uFFFD") << "nothing is left of the text before";
}

// Bytes that are cut anywhere give what they give together.
TEST(TokenText, AnyBytesGiveWhatTheyGiveTogether) {
  const Vocabulary vocabulary = VocabularyOf("gpt2-tiny");
  TokenText decoder(vocabulary);
  uint32_t state = 7;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (int i = 0; i < 6; ++i) {
      state = state * 1664525U + 1013904223U;
      constexpr uint8_t kHard[] = {'a',  0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2,
                                   0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5};
      bytes += static_cast<char>(kHard[state >> 28]);
    }
    std::string expected;
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::string_view before = rest;
      (void)TakeCodePoint(&rest);
      const auto part = before.substr(0, before.size() - rest.size());
      expected += IsUtf8(part) ? std::string(part) : "\uFFFD";
    }
    std::vector<uint32_t> ids;
    for (const char byte : bytes)
      ids.push_back(*vocabulary.Find(ByteSpelling(static_cast<uint8_t>(byte))));
    ASSERT_EQ(TextOf(decoder, ids), expected) << round;
  }
}

TEST(TokenText, AnAddedTokenStandsForItself) {
  const Vocabulary vocabulary = VocabularyOf("gpt2-tiny");
  TokenText decoder(vocabulary);
  EXPECT_EQ(decoder.Add(330), "<|endoftext|>");
  const Vocabulary other = *Vocabulary::FromText("a\n\u4E2D a\n");
  TokenText plain(other);
  EXPECT_EQ(plain.Add(1), "\u4E2D a");
}

}  // namespace
}  // namespace sti
