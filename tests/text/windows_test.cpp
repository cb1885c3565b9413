#include "text/windows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "support/expect.h"
#include "support/random.h"
#include "support/test_tokenizer.h"
#include "types/cascade.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;

/// A text of words that have so many pieces each, or the second text of a pair behind one of
/// `first` pieces, parted by as many control tokens.
Encoding WordsText(const Ids& pieces, std::optional<Ids> first = {}, uint32_t parted_by = 1) {
  Encoding text;
  const auto add = [&](uint32_t id, uint32_t word) {
    text.ids.push_back(id);
    text.types.push_back(text.second_begin ? 1 : 0);
    text.words.push_back(word);
    text.offsets.push_back({id, id + 1});
  };
  uint32_t word = 0;
  const auto add_words = [&](const Ids& words) {
    for (const uint32_t count : words) {
      for (uint32_t i = 0; i < count; ++i) add(static_cast<uint32_t>(100 + text.ids.size()), word);
      ++word;
    }
  };
  add(2, kNoWord);
  if (first) {
    add_words(*first);
    for (uint32_t i = 0; i < parted_by; ++i) add(3, kNoWord);
    text.second_begin = static_cast<uint32_t>(text.ids.size());
  }
  add_words(pieces);
  add(3, kNoWord);
  return text;
}

std::string ShownWindows(const Encoding& text, const WindowSizes& sizes) {
  const auto windows = SplitIntoWindows(text, sizes);
  EXPECT_TRUE(Succeeded(windows));
  std::string shown;
  for (const TextWindow& window : *windows)
    shown += std::to_string(window.begin) + "-" + std::to_string(window.end) + " ";
  return shown;
}

TEST(WindowsTest, SplitBetweenWords) {
  EXPECT_EQ(ShownWindows(WordsText({1, 1, 1}), {5, 1}), "1-4 ");
  EXPECT_EQ(ShownWindows(WordsText({1, 1, 1, 1}), {5, 1}), "1-4 2-5 ");
  EXPECT_EQ(ShownWindows(WordsText({1, 1, 1, 1}), {5, 3}), "1-4 4-5 ");
  // A stride of all tokens leaves none out: the control tokens take no place of the text.
  EXPECT_EQ(ShownWindows(WordsText({1, 1, 1, 1}), {5, 5}), "1-4 4-5 ");
  EXPECT_EQ(ShownWindows(WordsText({2, 2, 2}), {5, 2}), "1-3 3-5 5-7 ");
  EXPECT_EQ(ShownWindows(WordsText({2, 2, 2}), {6, 3}), "1-5 3-7 ");
  EXPECT_EQ(ShownWindows(WordsText({}), {3, 1}), "1-1 ");
}

TEST(WindowsTest, SplitBetweenPiecesOfAWordThatIsLonger) {
  EXPECT_EQ(ShownWindows(WordsText({7}), {5, 2}), "1-4 3-6 5-8 ");
  EXPECT_EQ(ShownWindows(WordsText({1, 7, 1}), {5, 3}), "1-2 2-5 5-8 8-10 ");
  // A word that is longer than the stride alone stays whole.
  EXPECT_EQ(ShownWindows(WordsText({3, 1, 3}), {6, 2}), "1-5 4-8 ");
  // No window ends where the one before does, however short the stride.
  EXPECT_EQ(ShownWindows(WordsText({1, 1, 1, 3, 1}), {6, 1}), "1-4 3-7 4-8 ");
  EXPECT_EQ(ShownWindows(WordsText({1, 1, 9}), {6, 1}), "1-3 3-7 4-8 5-9 6-10 7-11 8-12 ");
}

TEST(WindowsTest, OfAPairTheSecondTextIsSplit) {
  const Encoding pair = WordsText({1, 1, 1, 1}, Ids{2});
  EXPECT_EQ(ShownWindows(pair, {7, 1}), "4-6 5-7 6-8 ");
  const auto windows = SplitIntoWindows(pair, {7, 1});
  Encoding window;
  EncodeWindow(pair, (*windows)[1], &window);
  EXPECT_EQ(window.ids, (Ids{2, 101, 102, 3, 105, 106, 3}));
  EXPECT_EQ(window.types, (Ids{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(window.second_begin, 4U);
  const Encoding doubled = WordsText({1, 1, 1}, Ids{1}, 2);
  EncodeWindow(doubled, SplitIntoWindows(doubled, {6, 1})->back(), &window);
  EXPECT_EQ(window.ids, (Ids{2, 101, 3, 3, 106, 3}));
  EXPECT_TRUE(FailedWith(SplitIntoWindows(WordsText({1, 1, 1}, Ids{4}), {6, 1}),
                         ErrorKind::kDamaged, "leaves the second no room"));
  // Where all fits nothing is split.
  EXPECT_EQ(ShownWindows(WordsText({}, Ids{4}), {7, 1}), "6-6 ");
}

TEST(WindowsTest, SizesThatHoldNoText) {
  EXPECT_TRUE(Succeeded(CheckWindowSizes({3, 3}, 2)));
  EXPECT_TRUE(FailedWith(CheckWindowSizes({2, 1}, 2), ErrorKind::kUsage, "take at least 3"));
  EXPECT_TRUE(FailedWith(CheckWindowSizes({4, 1}, 4), ErrorKind::kUsage, "4 control tokens"));
  EXPECT_TRUE(FailedWith(CheckWindowSizes({8, 9}, 2), ErrorKind::kUsage, "a stride of 1 to 8"));
  EXPECT_TRUE(FailedWith(CheckWindowSizes({8, 0}, 2), ErrorKind::kUsage, "a stride of 1 to 8"));
}

/// Checks the windows of a text against what is said of them.
void Check(const Encoding& text, const WindowSizes& sizes) {
  const auto split = SplitIntoWindows(text, sizes);
  ASSERT_TRUE(Succeeded(split));
  const std::vector<TextWindow>& windows = *split;
  const uint32_t head = text.second_begin.value_or(1);
  const auto last = static_cast<uint32_t>(text.ids.size() - 1);
  EXPECT_EQ(windows.front().begin, head);
  EXPECT_EQ(windows.back().end, last);
  for (size_t k = 0; k < windows.size(); ++k) {
    const TextWindow& window = windows[k];
    Encoding encoding;
    EncodeWindow(text, window, &encoding);
    ASSERT_LE(encoding.ids.size(), sizes.tokens);
    const auto ends_word = [&](uint32_t at) {
      return at == head || at == last || text.words[at] != text.words[at - 1];
    };
    if (k + 1 < windows.size()) {
      const TextWindow& next = windows[k + 1];
      ASSERT_GT(next.begin, window.begin);
      ASSERT_LE(next.begin, window.end);
      ASSERT_GT(next.end, window.end);
      // A text is cut in a word only where that alone is longer.
      const bool longer = text.words[window.begin] == text.words[window.end];
      EXPECT_TRUE(ends_word(window.end) || longer);
      EXPECT_TRUE(ends_word(next.begin) || longer);
      // It begins further behind only where from the last edge within the stride it would end no
      // later, or where there is no edge.
      uint32_t edge = std::min(window.end, window.begin + sizes.stride);
      while (edge > window.begin && !ends_word(edge)) --edge;
      if (edge > window.begin && next.begin > edge) {
        uint32_t end = std::min(last, edge + sizes.tokens - head - 1);
        while (end > edge && !ends_word(end)) --end;
        EXPECT_LE(end, window.end);
      }
    }
    for (uint32_t token = window.own_begin; token < window.own_end; ++token) {
      ASSERT_EQ(text.ids[token], encoding.ids[window.first_row + token - window.own_begin]);
      if (token < head || token == last) continue;
      const auto distance = [&](const TextWindow& to) {
        return std::abs(token + 0.5 - (to.begin + to.end) / 2.0);
      };
      for (const TextWindow& other : windows) {
        if (token >= other.begin && token < other.end) {
          EXPECT_LE(distance(window), distance(other));
        }
      }
    }
    EXPECT_EQ(window.own_begin, k == 0 ? 0 : windows[k - 1].own_end);
  }
  EXPECT_EQ(windows.back().own_end, text.ids.size());
}

TEST(WindowsTest, EachTokenCountsInTheWindowInWhoseMiddleItIsNearest) {
  TestRandom random(1);
  for (int round = 0; round < 3000; ++round) {
    Ids words(random.Below(40));
    const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random.Below(below)); };
    for (uint32_t& pieces : words) pieces = draw(8) == 0 ? 30 : 1 + draw(4);
    std::optional<Ids> first;
    if (random.Below(3) == 0) first = Ids(random.Below(4), 1);
    const Encoding text = WordsText(words, first, 1 + draw(2));
    const uint32_t others = text.second_begin.value_or(1) + 1;
    const uint32_t tokens = others + 1 + draw(20);
    Check(text, {tokens, 1 + draw(tokens)});
  }
}

TEST(WindowsTest, AWindowOfATextIsWhatItsWordsGiveAlone) {
  const Tokenizer tokenizer = TinyTokenizer();
  std::string text = "the houses played, good movie! ";
  for (int i = 0; i < 4; ++i) text += text;
  const Encoding whole = tokenizer.Encode(text, {}, kMostTextTokens);
  const auto windows = SplitIntoWindows(whole, {11, 5});
  ASSERT_TRUE(Succeeded(windows));
  EXPECT_GT(windows->size(), 10U);
  for (const TextWindow& window : *windows) {
    Encoding encoding;
    EncodeWindow(whole, window, &encoding);
    const uint32_t begin = whole.offsets[window.begin].begin;
    const uint32_t end = whole.offsets[window.end - 1].end;
    EXPECT_EQ(encoding.ids, tokenizer.Encode(text.substr(begin, end - begin), {}, 512).ids);
  }
}

}  // namespace
}  // namespace sti
