#include "text/unicode.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/utf8.h"

namespace sti {
namespace {

std::u32string Decode(std::string_view text) {
  std::u32string codes;
  while (!text.empty()) codes.push_back(TakeCodePoint(&text));
  return codes;
}

std::u32string Text(const CodePoints& points) { return {points.begin(), points.end()}; }

// Token ids depend on it: a new version needs a look at the reference and a release note.
TEST(Unicode, VersionIsPinned) { EXPECT_EQ(UnicodeVersion(), "15.0.0"); }

TEST(Unicode, DecodesWhatIsSound) {
  EXPECT_EQ(Decode("a\u00E9\u20AC\U0001F600\U0010FFFF"), U"a\u00E9\u20AC\U0001F600\U0010FFFF");
  EXPECT_EQ(Decode("\uD7FF\uE000"), U"\uD7FF\uE000");
}

TEST(Unicode, ReplacesMaximalSubparts) {
  EXPECT_EQ(Decode("\x80"), U"\uFFFD");
  EXPECT_EQ(Decode("\xC0\xAF"), U"\uFFFD\uFFFD");
  EXPECT_EQ(Decode("\xE2\x82"), U"\uFFFD");
  EXPECT_EQ(Decode("\xE2\x82z"), U"\uFFFDz");
  EXPECT_EQ(Decode("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Decode("\xF4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(Decode("\xF0\x9F\x98\xF0\x9F\x98\x80"), U"\uFFFD\U0001F600");
  EXPECT_EQ(Decode("\xFF"
                   "a"),
            U"\uFFFDa");
}

TEST(Unicode, EncodesWhatItDecodes) {
  for (const char32_t code : {U'a', U'\u00E9', U'\u20AC', U'\U0001F600'}) {
    std::string text;
    AppendUtf8(code, &text);
    EXPECT_EQ(Decode(text), std::u32string(1, code));
  }
}

TEST(Unicode, KnowsWhiteSpace) {
  for (const char32_t code : {U' ', U'\t', U'\v', U'\u0085', U'\u00A0', U'\u2028', U'\u3000'}) {
    EXPECT_TRUE(IsWhiteSpace(code)) << static_cast<uint32_t>(code);
  }
  EXPECT_FALSE(IsWhiteSpace(U'\u200B'));
  EXPECT_FALSE(IsWhiteSpace(U'\u001F'));
}

TEST(Unicode, KnowsLettersAndNumbers) {
  for (const char32_t code : {U'a', U'Z', U'\u00AA', U'\u00E9', U'\u05D0', U'\u4E00', U'\u02B0'}) {
    EXPECT_TRUE(IsLetter(code) && !IsNumber(code)) << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {U'0', U'9', U'\u00B2', U'\u0663', U'\u2167', U'\u00BD'}) {
    EXPECT_TRUE(IsNumber(code) && !IsLetter(code)) << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {U'_', U'\'', U'\u0301', U'\u00D7', U'\uFFFD', U'\U0001F642', U' '}) {
    EXPECT_FALSE(IsNumber(code) || IsLetter(code)) << static_cast<uint32_t>(code);
  }
}

TEST(Unicode, KnowsControls) {
  for (const char32_t code : {U'\u0001', U'\u007F', U'\u0085', U'\u00AD', U'\u200B', U'\uFEFF'}) {
    EXPECT_TRUE(IsControl(code)) << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {U'\t', U'\n', U'\r', U'a', U'\uD7FF'}) {
    EXPECT_FALSE(IsControl(code)) << static_cast<uint32_t>(code);
  }
}

TEST(Unicode, KnowsPunctuation) {
  for (const char32_t code : {U'!', U'$', U'^', U'`', U'~', U'\u00A1', U'\u2014', U'\u3002'}) {
    EXPECT_TRUE(IsPunctuation(code)) << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {U'a', U'0', U' ', U'\u20AC', U'\u00B4'}) {
    EXPECT_FALSE(IsPunctuation(code)) << static_cast<uint32_t>(code);
  }
}

TEST(Unicode, KnowsIdeographs) {
  EXPECT_TRUE(IsIdeograph(U'\u4E2D'));
  EXPECT_TRUE(IsIdeograph(U'\uF900'));
  EXPECT_TRUE(IsIdeograph(U'\U00020000'));
  EXPECT_FALSE(IsIdeograph(U'\u30C6'));
  EXPECT_FALSE(IsIdeograph(U'\uD55C'));
}

TEST(Unicode, Decomposes) {
  EXPECT_EQ(Text(Decompose(U'\u00E9')), U"e\u0301");
  EXPECT_EQ(Text(Decompose(U'\u1E69')), U"s\u0323\u0307");
  EXPECT_EQ(Text(Decompose(U'\uD55C')), U"\u1112\u1161\u11AB");
  EXPECT_EQ(Text(Decompose(U'\uFB01')), U"\uFB01");
}

TEST(Unicode, Lowers) {
  EXPECT_EQ(Text(Lowercase(U'A')), U"a");
  EXPECT_EQ(Text(Lowercase(U'\u00C9')), U"\u00E9");
  EXPECT_EQ(Text(Lowercase(U'\u0130')), U"i\u0307");
  EXPECT_EQ(Text(Lowercase(U'\u03A3')), U"\u03C3");
}

}  // namespace
}  // namespace sti
