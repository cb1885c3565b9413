// Words are found that a mistyped one was meant to be.

#include "common/help.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sti {
namespace {

TEST(Nearest, CountsEachKindOfSlipOnce) {
  EXPECT_EQ(SlipsBetween("--target", "--target"), 0u);
  EXPECT_EQ(SlipsBetween("--taget", "--target"), 1u) << "a letter missing";
  EXPECT_EQ(SlipsBetween("--tarrget", "--target"), 1u) << "one too many";
  EXPECT_EQ(SlipsBetween("--tarket", "--target"), 1u) << "another one";
  EXPECT_EQ(SlipsBetween("--atrget", "--target"), 1u) << "two swapped";
  EXPECT_EQ(SlipsBetween("--trget-", "--target"), 2u);
  EXPECT_EQ(SlipsBetween("", "--io"), 4u);
  EXPECT_EQ(SlipsBetween("--io", ""), 4u);
  EXPECT_EQ(SlipsBetween("", ""), 0u);
  EXPECT_EQ(SlipsBetween("ab", "xyz"), 3u);
}

TEST(Nearest, IsTheSameBothWaysAndAtMostTheLongerWord) {
  const std::vector<std::string> words = {"", "-o", "--io", "--ids", "--top", "--pairs", "--bits"};
  for (const std::string& a : words) {
    for (const std::string& b : words) {
      EXPECT_EQ(SlipsBetween(a, b), SlipsBetween(b, a)) << a << " and " << b;
      EXPECT_LE(SlipsBetween(a, b), std::max(a.size(), b.size()));
      EXPECT_EQ(SlipsBetween(a, b) == 0, a == b);
    }
  }
}

TEST(Nearest, IsTheFirstOfTheNearestWords) {
  EXPECT_EQ(NearestWord("--preloat", {"--pairs", "--preload", "--preloads"}), "--preload");
  EXPECT_EQ(NearestWord("--preloadz", {"--preload", "--preloads"}), "--preload");
  EXPECT_EQ(NearestWord("--preloadss", {"--preload", "--preloads"}), "--preloads");
}

TEST(Nearest, IsNoneWhereAllWordsAreFar) {
  EXPECT_EQ(NearestWord("--no-such-option", {"--output", "--one-shot", "--version"}), "");
  EXPECT_EQ(NearestWord("-x", {"-h", "-q"}), "") << "each letter is as near as any other";
  EXPECT_EQ(NearestWord("-x", {"--io"}), "");
  EXPECT_EQ(NearestWord("--taget", {}), "");
}

}  // namespace

}  // namespace sti
