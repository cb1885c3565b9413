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

}  // namespace
}  // namespace sti
