#include "text/text_cutter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "support/random.h"
#include "support/tiny_model.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

/// A text of so many pieces, one a step.
class Pieces : public TextCutter {
 public:
  Pieces(uint64_t count, PieceList* list) : left_(count), list_(*list) {}

  bool Step() override {
    if (left_ == 0) return false;
    --left_;
    list_.Add(0, {});
    return true;
  }
  [[nodiscard]] size_t bytes_left() const override { return left_; }

 private:
  uint64_t left_;
  PieceList& list_;
};

/// transformers' longest_first, by tokenizers' truncate_encodings: of the lengths of both texts.
PairCut ByTheReference(uint64_t first, uint64_t second, uint64_t budget) {
  if (first + second <= budget) return {first, second, false};
  uint64_t shorter = std::min(first, second);
  uint64_t longer = shorter > budget ? shorter : std::max(shorter, budget - shorter);
  if (shorter + longer > budget) {
    shorter = budget / 2;
    longer = shorter + budget % 2;
  }
  if (first > second) return {longer, shorter, true};
  return {shorter, longer, true};
}

/// How many pieces of each were looked at, beside the cut.
struct Looked {
  PairCut cut;
  uint64_t first = 0;
  uint64_t second = 0;
};

Looked CutOf(uint64_t first, uint64_t second, uint64_t budget, bool whole = false) {
  PieceList lists[2] = {PieceList(budget), PieceList(budget)};
  Pieces a(first, &lists[0]);
  Pieces b(second, &lists[1]);
  const PairCut cut = CutPair(&a, lists[0], &b, lists[1], budget, whole);
  return {cut, lists[0].count(), lists[1].count()};
}

TEST(PairCutTest, EqualsTheCutByWholeLengths) {
  TestRandom random(1);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t budget = random.Below(40);
    const uint64_t most = 1 + random.Below(4 * budget + 4);
    const uint64_t first = random.Below(most);
    // Lengths that are equal or differ by one decide who has the odd piece.
    const uint64_t second = random.Below(2) == 0 ? random.Below(most) : first + random.Below(2);
    const Looked seen = CutOf(first, second, budget);
    ASSERT_EQ(seen.cut, ByTheReference(first, second, budget))
        << first << ' ' << second << ' ' << budget;
    ASSERT_EQ(CutOf(first, second, budget, true).cut, seen.cut);
  }
}

// By lengths up to the budget both texts would be equally long.
TEST(PairCutTest, TheTrueLengthsDecideWhoHasTheOddPiece) {
  EXPECT_EQ(CutOf(1001, 1000, 5).cut, (PairCut{3, 2, true}));
  EXPECT_EQ(CutOf(1000, 1000, 5).cut, (PairCut{2, 3, true}));
}

TEST(PairCutTest, NoMoreIsLookedAtThanDecides) {
  constexpr uint64_t kLong = 1000000;
  for (const uint64_t budget : {0, 1, 2, 60, 61}) {
    const uint64_t half = budget / 2;
    // One that ends within half of the budget leaves the rest to the other.
    for (const uint64_t shorter : {uint64_t{0}, half / 2, half}) {
      EXPECT_LE(CutOf(shorter, kLong, budget).second, budget - shorter + 1) << budget;
      EXPECT_LE(CutOf(kLong, shorter, budget).first, budget - shorter + 1) << budget;
    }
    // An even budget is halved between two long ones; an odd one is not settled before one ends.
    const uint64_t shorter = budget % 2 == 0 ? kLong : 3 * half + 3;
    const uint64_t most = budget % 2 == 0 ? half + 1 : shorter + 1;
    for (const auto& [first, second] : {std::pair(shorter, kLong), std::pair(kLong, shorter)}) {
      const Looked seen = CutOf(first, second, budget);
      EXPECT_LE(seen.first, most) << budget;
      EXPECT_LE(seen.second, most) << budget;
    }
  }
}

TEST(PairCutTest, TheRestOfALongTextIsNotRead) {
  std::string tokens;
  for (const std::string& token : TinyVocabulary()) tokens += token + "\n";
  const WordPiece splitter(Vocabulary::FromText(tokens).value(), TokenizerInfo{});
  std::string text;
  while (text.size() < 100000) text += "the movie ";
  PieceList lists[2] = {PieceList(124), PieceList(124)};
  const auto first = splitter.Cut(text, &lists[0]);
  const auto second = splitter.Cut(text, &lists[1]);
  EXPECT_EQ(CutPair(first.get(), lists[0], second.get(), lists[1], 124, false),
            (PairCut{62, 62, true}));
  EXPECT_GT(first->bytes_left(), 99000U);
  EXPECT_GT(second->bytes_left(), 99000U);
}

}  // namespace
}  // namespace sti
