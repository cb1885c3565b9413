#include "text/byte_bpe.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/utf8.h"
#include "import/tokenizer_files.h"
#include "network/families.h"
#include "support/expect.h"
#include "support/random.h"
#include "text/tokenizer.h"
#include "text/unicode.h"
#include "types/cascade.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;

const std::string kFolder = STI_SOURCE_DIR "/tests/data/bpe";

Tokenizer GoldenTokenizer(bool add_prefix_space = false) {
  auto files = ReadTokenizer(kFolder, {*FindFamily("roberta"), 1000, 1});
  EXPECT_TRUE(Succeeded(files));
  auto vocabulary = Vocabulary::FromText(files->vocabulary_text);
  EXPECT_TRUE(Succeeded(vocabulary));
  TokenizerInfo info = files->info;
  info.add_prefix_space = add_prefix_space;
  info.second_type = 0;
  auto tokenizer = Tokenizer::Create(std::move(vocabulary).value(), files->merges_text, info);
  EXPECT_TRUE(Succeeded(tokenizer));
  return std::move(tokenizer).value();
}

/// The pieces of a text, with a bar between them, in the vocabulary's own spelling.
std::string SpellPieces(const Tokenizer& tokenizer, std::string_view text) {
  const Encoding encoding = tokenizer.Encode(text, {}, 512);
  std::string spelled;
  for (size_t i = 1; i + 1 < encoding.ids.size(); ++i) {
    if (i > 1) spelled += '|';
    spelled += tokenizer.vocabulary().Token(encoding.ids[i]);
  }
  return spelled;
}

// Every byte has one visible character of its own.
TEST(ByteSpellingTest, IsOneToOne) {
  std::vector<bool> taken(0x144, false);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code = ByteCharacter(static_cast<uint8_t>(byte));
    ASSERT_LT(code, taken.size());
    EXPECT_FALSE(taken[code]);
    taken[code] = true;
  }
  EXPECT_EQ(ByteSpelling('a'), "a");
  EXPECT_EQ(ByteSpelling(' '), "\u0120");
  EXPECT_EQ(ByteSpelling('\n'), "\u010A");
  EXPECT_EQ(ByteSpelling(0xAD), "\u0143");
}

// Made once with another implementation; see tests/data/README.md.
TEST(ByteBpeTest, EveryLineOfTheReference) {
  const Tokenizer plain = GoldenTokenizer();
  const Tokenizer spaced = GoldenTokenizer(true);
  std::ifstream lines(kFolder + "/golden.jsonl");
  std::string line;
  size_t count = 0;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    const std::string text = json.at("text");
    std::optional<std::string> pair;
    if (json.contains("pair")) pair = json.at("pair").get<std::string>();
    const uint32_t length = json.value("max", 512U);
    EXPECT_EQ(plain.Encode(text, pair, length).ids, json.at("ids").get<Ids>()) << line;
    ++count;
    if (json.contains("max")) continue;
    const Ids with_space = json.value("spaced", json.at("ids").get<Ids>());
    EXPECT_EQ(spaced.Encode(text, pair, length).ids, with_space) << line;
  }
  EXPECT_GT(count, 500U);
}

TEST(ByteBpeTest, TextThatSpellsAControlTokenIsText) {
  const Tokenizer tokenizer = GoldenTokenizer();
  EXPECT_EQ(SpellPieces(tokenizer, "<s>"), "<|s|>");
  const Ids ids = tokenizer.Encode("</s><pad><unk><mask>", {}, 512).ids;
  for (size_t i = 1; i + 1 < ids.size(); ++i) EXPECT_GT(ids[i], 4U);
}

TEST(ByteBpeTest, WhatIsNotUtf8IsReplaced) {
  const Tokenizer tokenizer = GoldenTokenizer();
  const auto same = [&](std::string_view broken, std::string_view replaced) {
    EXPECT_EQ(tokenizer.Encode(broken, {}, 512).ids, tokenizer.Encode(replaced, {}, 512).ids);
  };
  same("a\xFFz", "a\uFFFDz");
  same("\xE2\x82", "\uFFFD");
  same("\xF0\x9F\x99 's", "\uFFFD 's");
  same("'\xC3", "'\uFFFD");
  same("\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD");
}

TEST(ByteBpeTest, PairsArePartedByTwoAndCutAsOneText) {
  const Tokenizer tokenizer = GoldenTokenizer();
  const Encoding empty = tokenizer.Encode("", "", 512);
  EXPECT_EQ(empty.ids, (Ids{0, 2, 2, 2}));
  EXPECT_EQ(empty.types, (Ids{0, 0, 0, 0}));
  const Encoding cut = tokenizer.Encode("a b c d", "e", 6);
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.ids.size(), 6U);
  EXPECT_EQ(tokenizer.Encode("a b c", "d e f", 2).ids, (Ids{0, 2, 2, 2}));
  const Encoding single = tokenizer.Encode("a b c d", {}, 4);
  EXPECT_TRUE(single.truncated);
  EXPECT_EQ(single.ids.size(), 4U);
}

TEST(ByteBpeTest, EachTokenSaysWhichWordItIsOf) {
  const Tokenizer tokenizer = GoldenTokenizer();
  const Encoding encoding = tokenizer.Encode("qqq zz!", "q", 512);
  ASSERT_EQ(encoding.words.size(), encoding.ids.size());
  std::vector<std::string> words(4);
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const bool control = encoding.ids[i] == 0 || encoding.ids[i] == 2;
    ASSERT_EQ(encoding.words[i] == kNoWord, control) << i;
    if (!control) words.at(encoding.words[i]) += tokenizer.vocabulary().Token(encoding.ids[i]);
  }
  EXPECT_EQ(words, (std::vector<std::string>{"qqq", "\u0120zz", "!", "q"}));
}

// A word of half a mebibyte, in each shape that makes a scan per merge quadratic. With such a scan
// the limit of a test ends it (start/limit_tests.cpp), since it would take an hour.
TEST(ByteBpeTest, LongWordsTakeLittleTime) {
  const Tokenizer tokenizer = GoldenTokenizer();
  for (const std::string unit : {"t", "the", "\xC3", "'", " ", "\xF0\x9F\x99\x82"}) {
    std::string text;
    while (text.size() < (size_t{1} << 19)) text += unit;
    // Which text is longer decides who has the odd piece, so both are cut to their end.
    const Encoding encoding = tokenizer.Encode(text, text, 513);
    EXPECT_EQ(encoding.ids.size(), 513U);
  }
}

std::string ByteVocabulary() {
  std::string text = "<s>\n<pad>\n</s>\n<unk>\n";
  for (uint32_t byte = 0; byte < 256; ++byte)
    text += ByteSpelling(static_cast<uint8_t>(byte)) + "\n";
  return text;
}

Result<ByteBpe> Make(const std::string& vocabulary, const std::string& merges) {
  return ByteBpe::Create(Vocabulary::FromText(vocabulary).value(), merges, false);
}

/// A letter of two bytes.
std::string Letter(uint32_t index) {
  std::string text;
  AppendUtf8(0x410 + index, &text);
  return text;
}

Ids Cut(const ByteBpe& bpe, std::string_view text, uint64_t limit) {
  PieceList pieces(limit);
  const auto cutter = bpe.Cut(text, &pieces);
  while (!pieces.done() && cutter->Step()) {
  }
  Ids ids;
  for (const Piece& piece : pieces.pieces()) ids.push_back(piece.id);
  return ids;
}

TEST(ByteBpeTest, LowestRankFirstThenLeftmost) {
  const std::string vocabulary = ByteVocabulary() + "ab\nbc\nabc\naa\naaa\n";
  const auto pieces = [&](const std::string& merges, std::string_view text) {
    const auto bpe = Make(vocabulary, merges);
    EXPECT_TRUE(Succeeded(bpe));
    std::string spelled;
    for (const uint32_t id : Cut(*bpe, text, 100))
      spelled += std::string(bpe->vocabulary().Token(id)) + "|";
    return spelled;
  };
  EXPECT_EQ(pieces("b c\na b\n", "abc"), "a|bc|");
  EXPECT_EQ(pieces("a b\nb c\n", "abc"), "ab|c|");
  EXPECT_EQ(pieces("b c\na bc\n", "abcabc"), "abc|abc|");
  EXPECT_EQ(pieces("a a\n", "aaaaa"), "aa|aa|a|");
  EXPECT_EQ(pieces("a a\naa a\n", "aaaaa"), "aa|aaa|");
  EXPECT_EQ(pieces("", "abc"), "a|b|c|");
}

/// Tokens and merges over a few letters, in an order that no training gives: a merge may come
/// before those that make its parts.
struct WildMerges {
  std::vector<std::string> tokens;
  std::vector<std::pair<std::string, std::string>> merges;

  explicit WildMerges(uint32_t seed) {
    TestRandom random(seed);
    std::vector<std::string> parts = {"a", "b", "c"};
    std::set<std::string> seen(parts.begin(), parts.end());
    const size_t count = 8 + random.Below(40);
    while (merges.size() < count) {
      const std::string left = parts[random.Next() % parts.size()];
      const std::string right = parts[random.Next() % parts.size()];
      if (left.size() + right.size() > 64 || !seen.insert(left + right).second) continue;
      merges.emplace_back(left, right);
      parts.push_back(left + right);
      tokens.push_back(left + right);
    }
    // As trained, mixed a little, or in any order.
    const size_t reach = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 4 : count;
    for (size_t i = 0; i < count; ++i) {
      std::swap(merges[i], merges[i + random.Next() % std::min(reach, count - i)]);
    }
  }

  [[nodiscard]] ByteBpe Bpe() const {
    std::string vocabulary = ByteVocabulary();
    for (const std::string& token : tokens) vocabulary += token + "\n";
    std::string lines;
    for (const auto& [left, right] : merges) lines += left + " " + right + "\n";
    return Make(vocabulary, lines).value();
  }

  /// The pieces of a word by the definition, as a whole.
  [[nodiscard]] std::vector<std::string> Join(const std::string& word) const {
    std::map<std::pair<std::string, std::string>, size_t> ranks;
    for (const auto& merge : merges) ranks.emplace(merge, ranks.size());
    std::map<size_t, std::string> symbols;
    for (size_t i = 0; i < word.size(); ++i) symbols[i] = word.substr(i, 1);
    std::set<std::pair<size_t, size_t>> waiting;  // rank, then place of the left symbol
    const auto look = [&](auto left, bool adds) {
      const auto right = std::next(left);
      if (right == symbols.end()) return;
      const auto rank = ranks.find({left->second, right->second});
      if (rank == ranks.end()) return;
      const std::pair<size_t, size_t> entry(rank->second, left->first);
      if (adds) {
        waiting.insert(entry);
      } else {
        waiting.erase(entry);
      }
    };
    for (auto at = symbols.begin(); at != symbols.end(); ++at) look(at, true);
    while (!waiting.empty()) {
      const auto left = symbols.find(waiting.begin()->second);
      const auto right = std::next(left);
      for (const bool adds : {false, true}) {
        if (left != symbols.begin()) look(std::prev(left), adds);
        look(left, adds);
        if (adds) break;
        look(right, false);
        left->second += right->second;
        symbols.erase(right);
      }
    }
    std::vector<std::string> pieces;
    for (const auto& [at, piece] : symbols) pieces.push_back(piece);
    return pieces;
  }
};

/// A long word: of random letters, or of one unit over and over, with a few others in between.
std::string LongWord(uint32_t seed) {
  TestRandom random(seed);
  const std::string letters = std::string("abc").substr(0, 1 + random.Next() % 3);
  std::string unit;
  const size_t length = random.Next() % 3 == 0 ? 5000 : 1 + random.Next() % 6;
  for (size_t i = 0; i < length; ++i) unit += letters[random.Next() % letters.size()];
  std::string word;
  while (word.size() < 2 * ByteBpe::kStretchBytes + random.Next() % 3000) {
    word += unit;
    if (random.Next() % 500 == 0) word += letters[random.Next() % letters.size()];
  }
  return word;
}

// Which merges reach over the end of a stretch is found out, not assumed.
TEST(ByteBpeTest, LongWordsAreJoinedInStretchesAsInOne) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const WildMerges wild(seed);
    const ByteBpe bpe = wild.Bpe();
    const std::string word = LongWord(seed);
    std::vector<std::string> pieces;
    for (const uint32_t id : Cut(bpe, word, word.size())) {
      pieces.emplace_back(bpe.vocabulary().Token(id));
    }
    ASSERT_EQ(pieces, wild.Join(word)) << seed;
  }
}

// Each pair of letters stands once in the word and joins before the one on its left may: so where
// the first letter goes is decided by the last, two stretches behind it.
TEST(ByteBpeTest, MergesThatReachFurtherThanAStretchAreFound) {
  constexpr uint32_t kLetters = 64;
  std::string vocabulary = ByteVocabulary();
  std::string merges;
  std::vector<std::string> spelled;
  for (uint32_t i = 0; i < kLetters; ++i) {
    const std::string bytes = Letter(i);
    const std::string left = ByteSpelling(static_cast<uint8_t>(bytes[0]));
    const std::string right = ByteSpelling(static_cast<uint8_t>(bytes[1]));
    spelled.push_back(left + right);
    vocabulary += spelled.back() + "\n";
    merges += left + " " + right + "\n";
  }
  std::vector<uint32_t> word;
  for (uint32_t a = 0; a < kLetters; ++a) {
    word.push_back(a);
    for (uint32_t b = a + 1; b < kLetters; ++b) word.insert(word.end(), {a, b});
  }
  ASSERT_EQ(word.size() % 2, 0U);
  std::string text;
  for (const uint32_t letter : word) text += Letter(letter);
  ASSERT_GE(text.size(), 2 * ByteBpe::kStretchBytes);
  for (size_t i = word.size() - 1; i > 0; --i) {
    vocabulary += spelled[word[i - 1]] + spelled[word[i]] + "\n";
    merges += spelled[word[i - 1]] + " " + spelled[word[i]] + "\n";
  }
  const ByteBpe bpe = Make(vocabulary, merges).value();
  const auto first = [&](std::string_view of) {
    return bpe.vocabulary().Token(Cut(bpe, of, 4000).front());
  };
  EXPECT_EQ(first(text), spelled[word[0]] + spelled[word[1]]);
  EXPECT_EQ(first(std::string_view(text).substr(0, text.size() - 2)), spelled[word[0]]);
}

// A word of a mebibyte takes the steps and the memory of its first stretch.
TEST(ByteBpeTest, OfALongWordNoMoreIsLookedAtThanCounts) {
  const auto files = ReadTokenizer(kFolder, {*FindFamily("roberta"), 1000, 1});
  ASSERT_TRUE(Succeeded(files));
  const ByteBpe bpe = Make(files->vocabulary_text, files->merges_text).value();
  const size_t size = size_t{1} << 20;
  for (const std::string unit : {"t", "the", "\xC3", "'", " ", "\n", "\xF0\x9F\x99\x82"}) {
    std::string text;
    while (text.size() < size) text += unit;
    PieceList pieces(510);
    const auto cutter = bpe.Cut(text, &pieces);
    while (!pieces.done() && cutter->Step()) {
    }
    EXPECT_GT(cutter->bytes_left(), text.size() - 4 * ByteBpe::kStretchBytes) << unit;
    EXPECT_EQ(pieces.pieces().back().word, 0U);
  }
}

TEST(ByteBpeTest, TheWordBehindALongOneIsAnother) {
  const Tokenizer tokenizer = GoldenTokenizer();
  constexpr size_t kLong = 3 * ByteBpe::kStretchBytes;
  const std::string qs(kLong, 'q');
  const std::string spaces(kLong, ' ');
  std::string spelled;
  for (size_t i = 0; i < kLong; ++i) spelled += "\u0120";
  const std::string spelled_but_one = spelled.substr(2);
  const auto words = [&](const std::string& text) {
    const Encoding encoding = tokenizer.Encode(text, {}, 3 * kLong);
    std::vector<std::string> each;
    for (size_t i = 1; i + 1 < encoding.ids.size(); ++i) {
      each.resize(encoding.words[i] + 1);
      each.back() += tokenizer.vocabulary().Token(encoding.ids[i]);
    }
    return each;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(qs + "!"), (Words{qs, "!"}));
  EXPECT_EQ(words(spaces + "q"), (Words{spelled_but_one, "\u0120q"}));
  EXPECT_EQ(words(spaces + "\tq"), (Words{spelled, "\u0109", "q"}));
  EXPECT_EQ(words("q" + spaces), (Words{"q", spelled}));
}

TEST(ByteBpeTest, RefusesWhatIsNoTokenizer) {
  const std::string vocabulary = ByteVocabulary() + "ab\n";
  EXPECT_TRUE(FailedWith(Make("a\nb\n", ""), ErrorKind::kDamaged, "no token for byte"));
  EXPECT_TRUE(
      FailedWith(Make(vocabulary, "a b\nb c\n"), ErrorKind::kDamaged, "line 2 is of or into"));
  EXPECT_TRUE(
      FailedWith(Make(vocabulary, "a b\na b\n"), ErrorKind::kDamaged, "line 2 stands twice"));
  EXPECT_TRUE(
      FailedWith(Make(vocabulary, "ab\n"), ErrorKind::kDamaged, "line 1 is not two tokens"));
  EXPECT_TRUE(FailedWith(Make(vocabulary, "a b c\n"), ErrorKind::kDamaged, "line 1"));
  EXPECT_TRUE(FailedWith(Make(vocabulary, "\n"), ErrorKind::kDamaged, "line 1"));
}

}  // namespace
}  // namespace sti
