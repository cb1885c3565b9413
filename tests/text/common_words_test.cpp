#include "text/common_words.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

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
