#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/tiny_model.h"
#include "text/tokenizer.h"
#include "types/cascade.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;

const std::string kShared = STI_SOURCE_DIR "/../shared";

std::optional<std::string> ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TokenizerInfo InfoFor(const Vocabulary& vocabulary) {
  TokenizerInfo info;
  info.unknown_id = vocabulary.Find("[UNK]").value_or(0);
  info.cls_id = vocabulary.Find("[CLS]").value_or(0);
  info.sep_id = vocabulary.Find("[SEP]").value_or(0);
  info.pad_id = vocabulary.Find("[PAD]").value_or(0);
  return info;
}

std::optional<Tokenizer> TokenizerOf(const std::string& model) {
  auto text = ReadText(kShared + "/models/" + model + "/vocab.txt");
  if (!text) return std::nullopt;
  auto vocabulary = Vocabulary::FromText(*std::move(text));
  if (!vocabulary.ok()) return std::nullopt;
  const TokenizerInfo info = InfoFor(*vocabulary);
  return Tokenizer(std::move(vocabulary).value(), info);
}

Tokenizer TinyTokenizer(bool lowercase = true, bool strip_accents = true) {
  std::string text;
  for (const std::string& token : TinyVocabulary()) text += token + "\n";
  auto vocabulary = Vocabulary::FromText(text);
  TokenizerInfo info = InfoFor(*vocabulary);
  info.lowercase = lowercase;
  info.strip_accents = strip_accents;
  return {std::move(vocabulary).value(), info};
}

std::string Spell(const Tokenizer& tokenizer, const Encoding& encoding) {
  std::string spelled;
  for (const uint32_t id : encoding.ids) {
    if (!spelled.empty()) spelled += ' ';
    spelled += tokenizer.vocabulary().Token(id);
  }
  return spelled;
}

std::string Spell(const Tokenizer& tokenizer, std::string_view text, uint32_t max_length = 512) {
  return Spell(tokenizer, tokenizer.Encode(text, std::nullopt, max_length));
}

/// Checks every line of a reference file; returns how many there were.
int CheckReference(const Tokenizer& tokenizer, const std::string& path, uint32_t max_length) {
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) {
    ++lines;
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const std::string text = json["text"];
    std::optional<std::string_view> pair;
    if (json.contains("pair")) pair = json["pair"].get_ref<const std::string&>();
    const Encoding encoding = tokenizer.Encode(text, pair, max_length);
    EXPECT_EQ(encoding.ids, json["ids"].get<Ids>()) << path << ":" << lines << ": " << line;
    if (json.contains("types")) {
      EXPECT_EQ(encoding.types, json["types"].get<Ids>()) << lines;
    }
    EXPECT_TRUE(!encoding.truncated || encoding.ids.size() == max_length);
  }
  return lines;
}

TEST(Wordpiece, EqualsTheReference) {
  const auto tokenizer = TokenizerOf("sst2-minilm-12x12");
  if (!tokenizer) GTEST_SKIP() << "no ../shared/models beside the source";
  EXPECT_EQ(CheckReference(*tokenizer, kShared + "/reference/wordpiece.jsonl", 512), 412);
}

TEST(Wordpiece, EqualsTheIdsOfTheLogitsReference) {
  const std::pair<const char*, uint32_t> models[] = {
      {"sst2-minilm-12x12", 512}, {"clinc150-minilm-6x12", 512}, {"clinc150-tiny-6x12", 128}};
  for (const auto& [model, positions] : models) {
    const auto tokenizer = TokenizerOf(model);
    if (!tokenizer) GTEST_SKIP() << "no ../shared/models beside the source";
    const std::string path = kShared + "/reference/" + model + "-logits.jsonl";
    EXPECT_GT(CheckReference(*tokenizer, path, positions), 0);
  }
}

TEST(Wordpiece, SplitsWordsIntoPieces) {
  const Tokenizer tokenizer = TinyTokenizer();
  EXPECT_EQ(Spell(tokenizer, ""), "[CLS] [SEP]");
  EXPECT_EQ(Spell(tokenizer, " \t\n"), "[CLS] [SEP]");
  EXPECT_EQ(Spell(tokenizer, "The houses played!"), "[CLS] the hous ##e ##s play ##ed ! [SEP]");
  EXPECT_EQ(Spell(tokenizer, "house zebra"), "[CLS] hous ##e [UNK] [SEP]");
  EXPECT_EQ(Spell(tokenizer, "playz"), "[CLS] [UNK] [SEP]");
}

TEST(Wordpiece, ControlTokensInTextAreText) {
  const Tokenizer tokenizer = TinyTokenizer();
  EXPECT_EQ(Spell(tokenizer, "[SEP]"), "[CLS] [ sep ] [SEP]");
  EXPECT_EQ(Spell(tokenizer, "[CLS]good"), "[CLS] [ cls ] good [SEP]");
}

TEST(Wordpiece, BadUtf8IsDropped) {
  const Tokenizer tokenizer = TinyTokenizer();
  EXPECT_EQ(Spell(tokenizer, "go\xFFod mo\xE2\x82vie\xF0"), "[CLS] good movie [SEP]");
  EXPECT_EQ(Spell(tokenizer, std::string_view("go\0od", 5)), "[CLS] good [SEP]");
}

TEST(Wordpiece, KeepsCaseAndAccentsWhenTold) {
  EXPECT_EQ(Spell(TinyTokenizer(), "G\u00F6\u00F6d"), "[CLS] good [SEP]");
  EXPECT_EQ(Spell(TinyTokenizer(true, false), "g\u00F6od GOOD"), "[CLS] [UNK] good [SEP]");
  EXPECT_EQ(Spell(TinyTokenizer(false, true), "g\u00F6od GOOD"), "[CLS] good [UNK] [SEP]");
}

TEST(Wordpiece, LongWordsAreUnknown) {
  const Tokenizer tokenizer = TinyTokenizer();
  const Encoding fits = tokenizer.Encode(std::string(100, 'x'), std::nullopt, 512);
  EXPECT_EQ(fits.ids.size(), 102u);
  EXPECT_EQ(Spell(tokenizer, std::string(101, 'x')), "[CLS] [UNK] [SEP]");
}

TEST(Wordpiece, TruncatesTheEndOfASingleText) {
  const Tokenizer tokenizer = TinyTokenizer();
  const std::string text = "the good movie";
  EXPECT_FALSE(tokenizer.Encode(text, std::nullopt, 5).truncated);
  const Encoding cut = tokenizer.Encode(text, std::nullopt, 4);
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(Spell(tokenizer, cut), "[CLS] the good [SEP]");
  EXPECT_EQ(Spell(tokenizer, text, 2), "[CLS] [SEP]");
  EXPECT_EQ(Spell(tokenizer, text, 0), "[CLS] [SEP]");
  EXPECT_FALSE(tokenizer.Encode("", std::nullopt, 0).truncated);
}

TEST(Wordpiece, TruncationSplitsAWordBetweenPieces) {
  const Tokenizer tokenizer = TinyTokenizer();
  EXPECT_EQ(Spell(tokenizer, "houses", 4), "[CLS] hous ##e [SEP]");
}

TEST(Wordpiece, TruncatesTheLongerOfAPair) {
  const Tokenizer tokenizer = TinyTokenizer();
  const auto cut = [&](std::string_view a, std::string_view b, uint32_t length) {
    const Encoding encoding = tokenizer.Encode(a, b, length);
    EXPECT_TRUE(encoding.truncated);
    EXPECT_EQ(encoding.types.size(), encoding.ids.size());
    return Spell(tokenizer, encoding);
  };
  EXPECT_EQ(cut("a a a a a", "i", 6), "[CLS] a a [SEP] i [SEP]");
  EXPECT_EQ(cut("a", "i i i i i", 6), "[CLS] a [SEP] i i [SEP]");
  EXPECT_EQ(cut("a a a a", "i i i i", 7), "[CLS] a a [SEP] i i [SEP]");
  EXPECT_EQ(cut("a a a a", "i i i i", 8), "[CLS] a a [SEP] i i i [SEP]");
  EXPECT_EQ(cut("a a a a a", "i i i i", 8), "[CLS] a a a [SEP] i i [SEP]");
  EXPECT_EQ(cut("a a a a a", "i i i i", 3), "[CLS] [SEP] [SEP]");
  const Encoding whole = tokenizer.Encode("a a", "i", 6);
  EXPECT_FALSE(whole.truncated);
  EXPECT_EQ(whole.types, (Ids{0, 0, 0, 0, 1, 1}));
}

// As transformers does with truncation_side "left".
TEST(Wordpiece, TruncatesBeginsWhereTheModelSaysSo) {
  Tokenizer tokenizer = TinyTokenizer();
  TokenizerInfo info = tokenizer.info();
  info.cuts_begin = true;
  tokenizer = Tokenizer(tokenizer.vocabulary(), info);
  EXPECT_EQ(Spell(tokenizer, "the good movie", 4), "[CLS] good movie [SEP]");
  EXPECT_EQ(Spell(tokenizer, "the good movie", 5), "[CLS] the good movie [SEP]");
  EXPECT_EQ(Spell(tokenizer, "houses", 4), "[CLS] ##e ##s [SEP]");
  EXPECT_EQ(Spell(tokenizer, "houses", 2), "[CLS] [SEP]");
  const auto cut = [&](std::string_view a, std::string_view b, uint32_t length) {
    const Encoding encoding = tokenizer.Encode(a, b, length);
    EXPECT_TRUE(encoding.truncated);
    return Spell(tokenizer, encoding);
  };
  EXPECT_EQ(cut("the good movie", "i a", 6), "[CLS] good movie [SEP] a [SEP]");
  EXPECT_EQ(cut("a", "i the good movie", 6), "[CLS] a [SEP] good movie [SEP]");
  EXPECT_EQ(cut("the good movie a", "i a the movie", 7), "[CLS] movie a [SEP] the movie [SEP]");
  const Encoding words = tokenizer.Encode("the good movie", "i a", 6);
  EXPECT_EQ(words.words, (Ids{kNoWord, 0, 1, kNoWord, 2, kNoWord}));
}

// A word that is too long, or a run of spaces, is passed over; what follows is not.
TEST(Wordpiece, WhatChangesNothingIsPassedOver) {
  const Tokenizer tokenizer = TinyTokenizer();
  const std::string word(5000, 'x');
  EXPECT_EQ(Spell(tokenizer, word + " good"), "[CLS] [UNK] good [SEP]");
  EXPECT_EQ(Spell(tokenizer, word + "!good"), "[CLS] [UNK] ! good [SEP]");
  EXPECT_EQ(Spell(tokenizer, word + "\u00e9" + word + "\u4e2dgood"),
            "[CLS] [UNK] [UNK] good [SEP]");
  EXPECT_EQ(Spell(tokenizer, "good" + std::string(5000, ' ') + "movie"), "[CLS] good movie [SEP]");
  // A mark that still has to find its place belongs to the word before the spaces.
  EXPECT_EQ(Spell(tokenizer, "\u302E" + std::string(10, ' ') + "good"), "[CLS] [UNK] good [SEP]");
}

TEST(Wordpiece, EachTokenSaysWhichWordItIsOf) {
  const Tokenizer tokenizer = TinyTokenizer();
  const Encoding one = tokenizer.Encode("the houses playz!", {}, 512);
  EXPECT_EQ(one.words, (Ids{kNoWord, 0, 1, 1, 1, 2, 3, kNoWord}));
  const Encoding two = tokenizer.Encode("the houses", "good movie", 7);
  EXPECT_EQ(Spell(tokenizer, two), "[CLS] the hous [SEP] good movie [SEP]");
  EXPECT_EQ(two.words, (Ids{kNoWord, 0, 1, kNoWord, 2, 3, kNoWord}));
  EXPECT_EQ(tokenizer.Encode("", "good", 512).words, (Ids{kNoWord, kNoWord, 0, kNoWord}));
}

// A quadratic step would take hours, and the limit of a test ends it (start/limit_tests.cpp).
TEST(Wordpiece, LongLinesTakeLinearTime) {
  const Tokenizer tokenizer = TinyTokenizer();
  const uint64_t size = 1 << 20;
  std::string marks = "a";
  while (marks.size() < size) marks += "\u302E\u0301";
  for (const std::string& line : {std::string(size, 'x'), std::string(size, ' '),
                                  std::string(size, '!'), std::string(size, '\xF0'), marks}) {
    (void)tokenizer.Encode(line, line, 128);
    (void)tokenizer.Encode(line, std::nullopt, 128);
  }
  EXPECT_TRUE(tokenizer.Encode(std::string(size, '!'), std::nullopt, 128).truncated);
  EXPECT_FALSE(tokenizer.Encode(std::string(size, ' '), std::nullopt, 128).truncated);
}

}  // namespace
}  // namespace sti
