#include "text/tagged_texts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/expect.h"
#include "text/dataset.h"

namespace sti {
namespace {

class TaggedTexts : public ::testing::Test {
 protected:
  [[nodiscard]] Result<std::vector<Example>> Parse(std::string_view content) const {
    return ParseTaggedTexts(content, "data", model_, {});
  }

  TagScheme model_ =
      *TagScheme::Of(std::vector<std::string>{"O", "B-PER", "I-PER", "B-LOC", "I-LOC"});
};

TEST_F(TaggedTexts, AreWordsByTheFirstColumnAndTagsByTheLast) {
  const auto texts = Parse(
      "-DOCSTART- -X- O\n\nAnna NNP B-PER\r\nvan\tNNP\tI-PER\n  lives   V O  \n\n \n\nBerlin "
      "B-LOC");
  ASSERT_TRUE(Succeeded(texts));
  ASSERT_EQ(texts->size(), 2U);
  const Example& first = texts->front();
  EXPECT_EQ(first.text, "Anna van lives");
  EXPECT_EQ(first.tagged->words, (std::vector<ByteRange>{{0, 4}, {5, 8}, {9, 14}}));
  ASSERT_EQ(first.tagged->tags.size(), 3U);
  EXPECT_EQ(first.tagged->tags[0].place, TagPlace::kBegin);
  EXPECT_EQ(first.tagged->tags[1].kind, *model_.FindKind("PER"));
  EXPECT_EQ(first.tagged->tags[2].place, TagPlace::kOutside);
  EXPECT_EQ(texts->back().text, "Berlin");
}

TEST_F(TaggedTexts, MayHaveTagsOfAnotherScheme) {
  for (const char* content : {"a U-PER\nb B-LOC\nc L-LOC\n", "a S-PER\nb B-LOC\nc E-LOC\n",
                              "a I-PER\nb I-LOC\nc I-LOC\n", "a PER\nb LOC\nc LOC\n"}) {
    const auto texts = Parse(content);
    ASSERT_TRUE(Succeeded(texts)) << content;
    const auto& tags = texts->front().tagged->tags;
    EXPECT_FALSE(GoesOn(tags[0], tags[1]));
    EXPECT_TRUE(GoesOn(tags[1], tags[2]));
    EXPECT_EQ(tags[1].kind, *model_.FindKind("LOC"));
  }
}

TEST_F(TaggedTexts, HaveCommentsAndWordsThatBeginAsOne) {
  const auto texts = Parse("# text = Anna\n# O\n#1 B-PER\n#\n\n# end of file\n");
  ASSERT_TRUE(Succeeded(texts));
  ASSERT_EQ(texts->size(), 1U);
  EXPECT_EQ(texts->front().text, "# #1");
}

TEST_F(TaggedTexts, AreRefusedWithTheirLine) {
  EXPECT_TRUE(
      FailedWith(Parse("Anna B-PER\nvan\n"), ErrorKind::kDamaged, "data:2: a word without"));
  EXPECT_TRUE(FailedWith(Parse("Anna B-PER\n\nx B-ORG\ny B-ORG\n"), ErrorKind::kDamaged,
                         "data:3: the tag \"B-ORG\" is of no kind"));
  EXPECT_TRUE(FailedWith(Parse("Anna B-PER\nx PER\n"), ErrorKind::kForeign, "no scheme of tags"));
  EXPECT_TRUE(FailedWith(Parse(""), ErrorKind::kDamaged, "no words with tags"));
  EXPECT_TRUE(FailedWith(Parse("\n# only\n\n"), ErrorKind::kDamaged, "no words with tags"));
  EXPECT_TRUE(FailedWith(Parse("\x1F\x8B"), ErrorKind::kDamaged, "gzip"));
  EXPECT_TRUE(FailedWith(Parse("a \x1b[31m\n"), ErrorKind::kDamaged, "?[31m"));
}

TEST_F(TaggedTexts, HaveLimits) {
  const std::string longest(kMaxDatasetLineBytes - 2, 'a');
  EXPECT_TRUE(Succeeded(Parse(longest + " O")));
  EXPECT_TRUE(FailedWith(Parse(longest + "a O"), ErrorKind::kDamaged, "longer than 1 MiB"));
  EXPECT_TRUE(FailedWith(Parse(longest + " O\naa O\n"), ErrorKind::kDamaged,
                         "data:2: a text longer than 1 MiB"));
}

TEST_F(TaggedTexts, WarnOfTheFirstLineThatIsNotUtf8) {
  std::vector<std::string> warnings;
  const auto log = [&](const LogLine& line) { warnings.push_back(line.what); };
  ASSERT_TRUE(Succeeded(ParseTaggedTexts("a O\nb\xE8 O\nc\xE8 O\n", "data", model_, log)));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("data:2: not UTF-8"), std::string::npos);
}

TEST_F(TaggedTexts, HaveTheDigestOfTheirSpans) {
  const auto digest = [&](const char* content) {
    const auto texts = Parse(content);
    EXPECT_TRUE(Succeeded(texts));
    return DigestOfTagged(*texts, model_);
  };
  EXPECT_EQ(digest("a B-PER\nb I-PER\n"), digest("a I-PER\nb I-PER\n")) << "the same span";
  EXPECT_NE(digest("a B-PER\nb I-PER\n"), digest("a B-PER\nb B-PER\n"));
  EXPECT_NE(digest("a B-PER\n"), digest("a B-LOC\n"));
  EXPECT_NE(digest("a O\nb O\n"), digest("a O\n\nb O\n"));
}

}  // namespace
}  // namespace sti
