#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace sti {
namespace {

TEST(Printable, IsUtf8WithoutControlCharacters) {
  for (const char* text :
       {"", "set an alarm", "caf\xC3\xA9", "\xC2\xA0", "\xEF\xBF\xBD", "\xF0\x9F\x98\x80", "~"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
    EXPECT_EQ(MakePrintable(text), text);
  }
  const std::pair<std::string, std::string> bad[] = {{"a\tb\n", "a?b?"},
                                                     {"\x1b[31mred", "?[31mred"},
                                                     {std::string(1, '\0'), "?"},
                                                     {"\x7F", "?"},
                                                     {"\xC2\x80x\xC2\x9F", "?x?"},
                                                     {"\xFF\xFE", "??"},
                                                     {"\xE2\x82", "?"},
                                                     {"\xE2\x82z", "?z"},
                                                     {"\xC0\xAF", "??"},
                                                     {"\xED\xA0\x80", "???"},
                                                     {"\x9B"
                                                      "31m",
                                                      "?31m"},
                                                     {"a\xF4\x90\x80\x80", "a????"}};
  for (const auto& [text, printable] : bad) {
    EXPECT_FALSE(IsPrintable(text)) << printable;
    EXPECT_EQ(MakePrintable(text), printable);
    EXPECT_TRUE(IsPrintable(printable));
  }
}

// Marks of direction make one text look like another; joiners are part of words and of emoji.
TEST(PlainText, MarksThatMoveTextAreNotShown) {
  for (const char* text : {"a\u202Eb", "a\u2066b", "a\u2028b", "a\u200Fb", "a\u061Cb"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
    EXPECT_TRUE(HasMovingText(text)) << text;
    EXPECT_EQ(MakePrintable(text), "a?b");
  }
  for (const char* text : {"a\u200Cb", "a\u200Db", "\uFEFFa", "\u0639\u0631", "\u2764\uFE0F"}) {
    EXPECT_FALSE(HasMovingText(text)) << text;
    EXPECT_EQ(MakePrintable(text), text);
  }
}

TEST(PlainText, IsClippedWhereItIsLong) {
  EXPECT_EQ(Clipped(""), "");
  EXPECT_EQ(Clipped(std::string(50, 'a')), std::string(50, 'a'));
  EXPECT_EQ(Clipped(std::string(51, 'a')), std::string(47, 'a') + "...");
}

TEST(PlainText, IsPrintableAsciiOfSomeLength) {
  EXPECT_TRUE(IsPlainText("", 0));
  EXPECT_TRUE(IsPlainText(" !~", 3));
  EXPECT_FALSE(IsPlainText(" !~", 2));
  for (const char* text : {"\x1F", "\x7F", "\xC3\xA9", "a\n"}) {
    EXPECT_FALSE(IsPlainText(text, 64)) << text;
  }
}

}  // namespace
}  // namespace sti
