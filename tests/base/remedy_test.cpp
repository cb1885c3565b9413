#include "base/remedy.h"

#include <gtest/gtest.h>

namespace sti {
namespace {

constexpr AdviceWords::Sentence kSentences[] = {{Remedy::kCopyFileAgain, "copy it again"},
                                                {Remedy::kRaiseInRequest, "raise {} or wait"}};
constexpr AdviceWords::Option kOptions[] = {{"turns", "--turns"}, {"turn_bytes", "--turn-buffer"}};
constexpr AdviceWords kAdviceWords{kSentences, kOptions};

TEST(Advice, IsTheSentenceOfTheRemedy) {
  EXPECT_EQ(WithAdvice("a.sti: is cut short", Remedy::kCopyFileAgain, "", kAdviceWords),
            "a.sti: is cut short; copy it again");
  EXPECT_EQ(WithAdvice("it failed", Remedy::kNone, "", kAdviceWords), "it failed");
  EXPECT_EQ(WithAdvice("it failed", Remedy::kMakeModel, "", kAdviceWords), "it failed")
      << "this teller has no words for it";
}

TEST(Advice, NamesOptionsForFieldsAsWholeWords) {
  EXPECT_EQ(
      WithAdvice("{}", Remedy::kRaiseInRequest, "turn_bytes to 4096 bytes, or turns", kAdviceWords),
      "{}; raise --turn-buffer to 4096 bytes, or --turns or wait");
  EXPECT_EQ(WithAdvice("no", Remedy::kRaiseInRequest, "returns, turns_more", kAdviceWords),
            "no; raise returns, turns_more or wait");
}

}  // namespace

}  // namespace sti
