#include "text/byte_bpe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/byte_spelling.h"
#include "import/tokenizer_files.h"
#include "support/expect.h"
#include "text/tokenizer.h"
#include "types/cascade.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;

const std::string kFolder = STI_SOURCE_DIR "/tests/data/bpe";

Tokenizer GoldenTokenizer(bool add_prefix_space = false) {
  auto files = ReadTokenizer(kFolder, {Architecture::kRoberta, 1000, 1});
  EXPECT_TRUE(Succeeded(files));
  auto vocabulary = Vocabulary::FromText(files->vocabulary_text);
  EXPECT_TRUE(Succeeded(vocabulary));
  TokenizerInfo info = files->info;
  info.add_prefix_space = add_prefix_space;
  info.second_type = 0;
  auto tokenizer = Tokenizer::Create(std::move(vocabulary).value(), files->merges_text, info);
  EXPECT_TRUE(Succeeded(tokenizer));
  return std::move(tokenizer).value();
}

/// The pieces of a text, with a bar between them, in the vocabulary's own spelling.
std::string SpellPieces(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.Encode(text, {}, 512);
  std::string spelled;
  for (size_t i = 1; i + 1 < encoding.ids.size(); ++i) {
    if (i > 1) spelled += '|';
    spelled += tokenizer.vocabulary().Token(encoding.ids[i]);
  }
  return spelled;
}

// Every byte has one visible character of its own.
TEST(ByteSpellingTest, IsOneToOne) {
  std::vector<bool> taken(0x144, false);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code = ByteCharacter(static_cast<uint8_t>(byte));
    ASSERT_LT(code, taken.size());
    EXPECT_FALSE(taken[code]);
    taken[code] = true;
  }
  EXPECT_EQ(ByteSpelling('a'), "a");
  EXPECT_EQ(ByteSpelling(' '), "\u0120");
  EXPECT_EQ(ByteSpelling('\n'), "\u010A");
  EXPECT_EQ(ByteSpelling(0xAD), "\u0143");
}

// Made once with another implementation; see tests/data/README.md.
TEST(ByteBpeTest, EveryLineOfTheReference) {
  const Tokenizer plain = GoldenTokenizer();
  const Tokenizer spaced = GoldenTokenizer(true);
  std::ifstream lines(kFolder + "/golden.jsonl");
  std::string line;
  size_t count = 0;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    const std::string text = json.at("text");
    std::optional<std::string> pair;
    if (json.contains("pair")) pair = json.at("pair").get<std::string>();
    const uint32_t length = json.value("max", 512U);
    EXPECT_EQ(plain.Encode(text, pair, length).ids, json.at("ids").get<Ids>()) << line;
    ++count;
    if (json.contains("max")) continue;
    const Ids with_space = json.value("spaced", json.at("ids").get<Ids>());
    EXPECT_EQ(spaced.Encode(text, pair, length).ids, with_space) << line;
  }
  EXPECT_GT(count, 500U);
}

TEST(ByteBpeTest, TextThatSpellsAControlTokenIsText) {
  const Tokenizer tokenizer = GoldenTokenizer();
  EXPECT_EQ(SpellPieces(tokenizer, "<s>"), "<|s|>");
  const Ids ids = tokenizer.Encode("</s><pad><unk><mask>", {}, 512).ids;
  for (size_t i = 1; i + 1 < ids.size(); ++i) EXPECT_GT(ids[i], 4U);
}

TEST(ByteBpeTest, WhatIsNotUtf8IsReplaced) {
  const Tokenizer tokenizer = GoldenTokenizer();
  const auto same = [&](std::string_view broken, std::string_view replaced) {
    EXPECT_EQ(tokenizer.Encode(broken, {}, 512).ids, tokenizer.Encode(replaced, {}, 512).ids);
  };
  same("a\xFFz", "a\uFFFDz");
  same("\xE2\x82", "\uFFFD");
  same("\xF0\x9F\x99 's", "\uFFFD 's");
  same("'\xC3", "'\uFFFD");
  same("\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD");
}

TEST(ByteBpeTest, PairsArePartedByTwoAndCutAsOneText) {
  const Tokenizer tokenizer = GoldenTokenizer();
  const Encoding empty = tokenizer.Encode("", "", 512);
  EXPECT_EQ(empty.ids, (Ids{0, 2, 2, 2}));
  EXPECT_EQ(empty.types, (Ids{0, 0, 0, 0}));
  const Encoding cut = tokenizer.Encode("a b c d", "e", 6);
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.ids.size(), 6U);
  EXPECT_EQ(tokenizer.Encode("a b c", "d e f", 2).ids, (Ids{0, 2, 2, 2}));
  const Encoding single = tokenizer.Encode("a b c d", {}, 4);
  EXPECT_TRUE(single.truncated);
  EXPECT_EQ(single.ids.size(), 4U);
}

TEST(ByteBpeTest, EachTokenSaysWhichWordItIsOf) {
  const Tokenizer tokenizer = GoldenTokenizer();
  const Encoding encoding = tokenizer.Encode("qqq zz!", "q", 512);
  ASSERT_EQ(encoding.words.size(), encoding.ids.size());
  std::vector<std::string> words(4);
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool control = encoding.ids[i] == 0 || encoding.ids[i] == 2;
    ASSERT_EQ(encoding.words[i] == kNoWord, control) << i;
    if (!control) words.at(encoding.words[i]) += tokenizer.vocabulary().Token(encoding.ids[i]);
  }
  EXPECT_EQ(words, (std::vector<std::string>{"qqq", "\u0120zz", "!", "q"}));
}

// A word of a mebibyte, in each shape that makes a scan per merge quadratic. With such a scan the
// limit of a test ends it (start/limit_tests.cpp), since it would take an hour.
TEST(ByteBpeTest, LongWordsTakeLittleTime) {
  const Tokenizer tokenizer = GoldenTokenizer();
  for (const std::string unit : {"t", "the", "\xC3", "'", " ", "\xF0\x9F\x99\x82"}) {
    std::string text;
    while (text.size() < (size_t{1} << 20)) text += unit;
    const Encoding encoding = tokenizer.Encode(text, "", 512);
    EXPECT_EQ(encoding.ids.size(), 512U);
  }
}

std::string ByteVocabulary() {
  std::string text = "<s>\n<pad>\n</s>\n<unk>\n";
  for (uint32_t byte = 0; byte < 256; ++byte)
    text += ByteSpelling(static_cast<uint8_t>(byte)) + "\n";
  return text;
}

Result<ByteBpe> Make(const std::string& vocabulary, const std::string& merges) {
  return ByteBpe::Create(Vocabulary::FromText(vocabulary).value(), merges, false);
}

TEST(ByteBpeTest, LowestRankFirstThenLeftmost) {
  const std::string vocabulary = ByteVocabulary() + "ab\nbc\nabc\naa\naaa\n";
  const auto pieces = [&](const std::string& merges, std::string_view text) {
    const auto bpe = Make(vocabulary, merges);
    EXPECT_TRUE(Succeeded(bpe));
    std::string spelled;
    const PieceList list = bpe->Split(text, 100, true);
    for (const uint32_t id : list.ids()) spelled += std::string(bpe->vocabulary().Token(id)) + "|";
    return spelled;
  };
  EXPECT_EQ(pieces("b c\na b\n", "abc"), "a|bc|");
  EXPECT_EQ(pieces("a b\nb c\n", "abc"), "ab|c|");
  EXPECT_EQ(pieces("b c\na bc\n", "abcabc"), "abc|abc|");
  EXPECT_EQ(pieces("a a\n", "aaaaa"), "aa|aa|a|");
  EXPECT_EQ(pieces("a a\naa a\n", "aaaaa"), "aa|aaa|");
  EXPECT_EQ(pieces("", "abc"), "a|b|c|");
}

TEST(ByteBpeTest, RefusesWhatIsNoTokenizer) {
  const std::string vocabulary = ByteVocabulary() + "ab\n";
  EXPECT_TRUE(FailedWith(Make("a\nb\n", ""), ErrorKind::kDamaged, "no token for byte"));
  EXPECT_TRUE(
      FailedWith(Make(vocabulary, "a b\nb c\n"), ErrorKind::kDamaged, "line 2 is of or into"));
  EXPECT_TRUE(
      FailedWith(Make(vocabulary, "a b\na b\n"), ErrorKind::kDamaged, "line 2 stands twice"));
  EXPECT_TRUE(
      FailedWith(Make(vocabulary, "ab\n"), ErrorKind::kDamaged, "line 1 is not two tokens"));
  EXPECT_TRUE(FailedWith(Make(vocabulary, "a b c\n"), ErrorKind::kDamaged, "line 1"));
  EXPECT_TRUE(FailedWith(Make(vocabulary, "\n"), ErrorKind::kDamaged, "line 1"));
}

}  // namespace
}  // namespace sti
