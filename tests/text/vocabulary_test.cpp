#include "text/vocabulary.h"

#include <gtest/gtest.h>

#include "types/limits.h"

namespace sti {
namespace {

TEST(Vocabulary, FindsTokensById) {
  const auto vocabulary = Vocabulary::FromText("[PAD]\nthe\n##s\n");
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->size(), 3u);
  EXPECT_EQ(vocabulary->Token(1), "the");
  EXPECT_EQ(vocabulary->Find("##s"), 2u);
  EXPECT_EQ(vocabulary->Find("th"), std::nullopt);
  EXPECT_EQ(vocabulary->Find(""), std::nullopt);
}

TEST(Vocabulary, ToleratesCrLfAndABareLastLine) {
  const auto vocabulary = Vocabulary::FromText("a\r\nb\r\nc");
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->size(), 3u);
  EXPECT_EQ(vocabulary->Find("b"), 1u);
  EXPECT_EQ(vocabulary->Find("c"), 2u);
}

TEST(Vocabulary, EmptyLinesTakeIds) {
  const auto vocabulary = Vocabulary::FromText("a\n\nb\n");
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->Find("b"), 2u);
  EXPECT_EQ(vocabulary->Token(1), "");
}

TEST(Vocabulary, LaterDuplicateWins) {
  const auto vocabulary = Vocabulary::FromText("a\nb\na\n");
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->Find("a"), 2u);
  EXPECT_EQ(vocabulary->Token(0), "a");
}

TEST(Vocabulary, TokensMayHoldNul) {
  const auto vocabulary = Vocabulary::FromText(std::string("a\0b\nc\n", 6));
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->Find(std::string_view("a\0b", 3)), 0u);
}

TEST(Vocabulary, SurvivesAMove) {
  auto made = Vocabulary::FromText("a\nb\n");
  ASSERT_TRUE(made.ok());
  const Vocabulary moved = std::move(made).value();
  EXPECT_EQ(moved.Find("b"), 1u);
}

TEST(Vocabulary, StaysSmall) {
  std::string text;
  for (int i = 0; i < 30000; ++i) text += "token" + std::to_string(i) + "\n";
  const uint64_t bytes = text.size();
  const auto vocabulary = Vocabulary::FromText(text);
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_LT(vocabulary->memory_bytes(), bytes + 30001 * 4 + 65536 * 4 + 64);
  for (uint32_t i = 0; i < 30000; ++i) {
    EXPECT_EQ(vocabulary->Find("token" + std::to_string(i)), i);
  }
}

TEST(Vocabulary, RefusesTooLittleAndTooMuch) {
  EXPECT_EQ(Vocabulary::FromText("").error().kind, ErrorKind::kDamaged);
  EXPECT_FALSE(Vocabulary::FromText(std::string(kMaxVocabulary + 1, '\n')).ok());
  EXPECT_TRUE(Vocabulary::FromText(std::string(kMaxVocabulary, '\n')).ok());
  EXPECT_FALSE(Vocabulary::FromText(std::string(kMaxTextBytes + 1, 'a')).ok());
}

using Ids = std::vector<uint32_t>;

Ids CommonOf(const char* text, size_t most) {
  const auto vocabulary = Vocabulary::FromText(text);
  EXPECT_TRUE(vocabulary.ok());
  return vocabulary.ok() ? CommonWords(*vocabulary, most) : Ids();
}

TEST(CommonWords, MarksThenWordsAndLettersByTheirIds) {
  const char* text = "[PAD]\n[unused0]\n[CLS]\n!\n#\n,\n7\na\nb\nthe\nof\n##s\n";
  EXPECT_EQ(CommonOf(text, 9), (Ids{5, 3, 9, 7, 10, 8, 11}));
  EXPECT_EQ(CommonOf(text, 4), (Ids{5, 3, 9, 7}));
  EXPECT_EQ(CommonOf(text, 1), (Ids{5}));
  EXPECT_EQ(CommonOf(text, 0), Ids());
  EXPECT_EQ(CommonOf("<s>\n</s>\n.\n\xC4\xA0the\n", 9), (Ids{2, 3}));
}

TEST(CommonWords, LeaveOutSingleCharactersBeyondAscii) {
  EXPECT_EQ(CommonOf("a\n\xC2\xA2\n\xE3\x81\x82\n\xF0\x9F\x98\x80\ncaf\xC3\xA9\n\xC3\xA9t\n", 9),
            (Ids{4, 0, 5}));
}

TEST(CommonWords, BracketsAreText) {
  EXPECT_EQ(CommonOf("[\n[]\n<>\n\n[x]\n<x>\n[x\n", 9), (Ids{1, 2, 6}));
}

TEST(CommonWords, MayBeNone) { EXPECT_EQ(CommonOf("[CLS]\n\n", 9), Ids()); }

}  // namespace

}  // namespace sti
