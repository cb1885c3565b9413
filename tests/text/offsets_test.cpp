// The bytes of a text that its tokens stand for.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "import/tokenizer_files.h"
#include "network/families.h"
#include "support/expect.h"
#include "support/offset_rules.h"
#include "support/random.h"
#include "support/test_tokenizer.h"
#include "text/tokenizer.h"
#include "types/cascade.h"

namespace sti {
namespace {

using Ids = std::vector<uint32_t>;
using Ranges = std::vector<ByteRange>;

const std::string kData = STI_SOURCE_DIR "/tests/data/";

Tokenizer WordPieceOf(bool lowercase, bool strip_accents, bool cuts_begin) {
  std::ifstream file(kData + "offsets/vocab.txt");
  std::ostringstream text;
  text << file.rdbuf();
  auto vocabulary = Vocabulary::FromText(text.str());
  EXPECT_TRUE(Succeeded(vocabulary));
  TokenizerInfo info;
  info.pad_id = 0;
  info.unknown_id = 1;
  info.cls_id = 2;
  info.sep_id = 3;
  info.lowercase = lowercase;
  info.strip_accents = strip_accents;
  info.cuts_begin = cuts_begin;
  return {std::move(vocabulary).value(), info};
}

Tokenizer BpeOf(bool add_prefix_space, bool cuts_begin) {
  auto files = ReadTokenizer(kData + "bpe", {*FindFamily("roberta"), 1000, 1});
  EXPECT_TRUE(Succeeded(files));
  auto vocabulary = Vocabulary::FromText(files->vocabulary_text);
  EXPECT_TRUE(Succeeded(vocabulary));
  TokenizerInfo info = files->info;
  info.add_prefix_space = add_prefix_space;
  info.cuts_begin = cuts_begin;
  auto tokenizer = Tokenizer::Create(std::move(vocabulary).value(), files->merges_text, info);
  EXPECT_TRUE(Succeeded(tokenizer));
  return std::move(tokenizer).value();
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// The bytes of each token, and "|" between those of a text.
std::string Shown(const Encoding& encoding, std::string_view text, std::string_view pair = {}) {
  std::string shown;
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.words[i] == kNoWord) {
      shown += encoding.offsets[i] == ByteRange{} ? "/" : "?";
      continue;
    }
    const bool second = encoding.second_begin && i >= *encoding.second_begin;
    const ByteRange bytes = encoding.offsets[i];
    shown += std::string((second ? pair : text).substr(bytes.begin, bytes.size())) + "|";
  }
  return shown;
}

std::string Shown(const Tokenizer& tokenizer, std::string_view text) {
  return Shown(tokenizer.Encode(text, {}, 512), text);
}

/// The ranges of all tokens but the control tokens.
Ranges OffsetsOf(const Tokenizer& tokenizer, std::string_view text) {
  Ranges offsets = tokenizer.Encode(text, {}, 512).offsets;
  offsets.erase(offsets.begin());
  offsets.pop_back();
  return offsets;
}

// Made by scripts/agree-on-offsets with Hugging Face's library.
TEST(OffsetsTest, EveryLineOfTheReference) {
  const std::map<std::string, Tokenizer> tokenizers = {
      {"wordpiece", WordPieceOf(true, true, false)},
      {"wordpiece-accents", WordPieceOf(true, false, false)},
      {"wordpiece-cased", WordPieceOf(false, false, false)},
      {"wordpiece-begins", WordPieceOf(true, true, true)},
      {"bpe", BpeOf(false, false)},
      {"bpe-spaced", BpeOf(true, false)},
      {"bpe-begins", BpeOf(false, true)}};
  std::ifstream lines(kData + "offsets/golden.jsonl");
  std::string line;
  std::map<std::string, int> counts;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    const std::string name = json.at("tokenizer");
    std::vector<std::string> texts;
    for (const std::string hex : json.at("hex")) texts.push_back(FromHex(hex));
    std::optional<std::string_view> pair;
    if (texts.size() == 2) pair = texts[1];
    const Encoding encoding = tokenizers.at(name).Encode(texts[0], pair, json.at("length"));
    EXPECT_EQ(encoding.ids, json.at("ids").get<Ids>()) << line;
    Ranges offsets;
    for (const auto& range : json.at("offsets")) offsets.push_back({range[0], range[1]});
    EXPECT_EQ(encoding.offsets, offsets) << line;
    for (size_t i = 0; i < encoding.ids.size(); ++i) {
      const int text = encoding.words[i] == kNoWord                           ? -1
                       : encoding.second_begin && i >= *encoding.second_begin ? 1
                                                                              : 0;
      EXPECT_EQ(text, json.at("texts")[i]) << line;
    }
    EXPECT_EQ(ProblemOfOffsets(encoding, texts[0], pair.value_or("")), "") << line;
    ++counts[name];
  }
  ASSERT_EQ(counts.size(), tokenizers.size());
  for (const auto& [name, count] : counts) EXPECT_GT(count, 25) << name;
}

TEST(OffsetsTest, SurviveNormalisation) {
  const Tokenizer tokenizer = WordPieceOf(true, true, false);
  EXPECT_EQ(Shown(tokenizer, "Set an ALARM"), "/Set|an|ALARM|/");
  EXPECT_EQ(Shown(tokenizer, "e\u0301 \u00c9a"), "/e|\u00c9|a|/");
  EXPECT_EQ(Shown(tokenizer, "\u4e2d\u6587"), "/\u4e2d|\u6587|/");
  EXPECT_EQ(Shown(tokenizer, "a\x01\xffx\xc3 b"), "/a|x|b|/");
  EXPECT_EQ(Shown(tokenizer, std::string_view("a\0b", 3)), "/a|b|/");
  EXPECT_EQ(Shown(tokenizer, "\ufffdset\ufffd \ufffd"), "/set|/");
  // One code point that becomes several belongs to each of their tokens.
  EXPECT_EQ(Shown(tokenizer, "\uac01"), "/\uac01|\uac01|\uac01|/");
  EXPECT_EQ(Shown(WordPieceOf(true, false, false), "\u0130"), "/\u0130|\u0130|/");
}

TEST(OffsetsTest, UnknownAndLongWordsAreWhole) {
  const Tokenizer tokenizer = TinyTokenizer();
  EXPECT_EQ(Shown(tokenizer, "good zebra\u0301 the"), "/good|zebra|the|/");
  const std::string word = std::string(300, 'x') + "\u00e9" + std::string(300, 'y');
  EXPECT_EQ(Shown(tokenizer, word + "\x01, good"), "/" + word + "|,|good|/");
  EXPECT_EQ(Shown(tokenizer, "good" + std::string(300, ' ') + word), "/good|" + word + "|/");
}

// Marks that stay change places, the bytes do not.
TEST(OffsetsTest, MarksThatChangePlacesKeepTheirBytes) {
  const Tokenizer tokenizer = WordPieceOf(true, true, false);
  for (const std::string text :
       {"a\u0301\u302e", "a\u302e\u0301b", "a\U0001D16D\u302E\U0001D165b", "\u302e\u302f"}) {
    const Encoding encoding = tokenizer.Encode(text, {}, 512);
    EXPECT_EQ(ProblemOfOffsets(encoding, text, ""), "");
    EXPECT_EQ(encoding.offsets[encoding.ids.size() - 2].end, text.size());
  }
  // More of them than a word has room for.
  std::string marks = "a";
  for (int i = 0; i < 500; ++i) marks += "\u302E";
  EXPECT_EQ(Shown(tokenizer, marks + " b"), "/" + marks + "|b|/");
}

TEST(OffsetsTest, SpacesAreNotInTheRangesOfBytePairs) {
  const Tokenizer plain = BpeOf(false, false);
  const Tokenizer spaced = BpeOf(true, false);
  EXPECT_EQ(Shown(plain, "the the"), "/the|the|/");
  EXPECT_EQ(OffsetsOf(plain, "  the"), (Ranges{{1, 1}, {2, 5}}));
  EXPECT_EQ(OffsetsOf(plain, "the "), (Ranges{{0, 3}, {4, 4}}));
  EXPECT_EQ(OffsetsOf(spaced, "the the"), (Ranges{{0, 3}, {4, 7}}));
  // As with Hugging Face's: a first space that is the text's own passes for the added one.
  EXPECT_EQ(OffsetsOf(spaced, " the"), (Ranges{{0, 4}}));
  EXPECT_EQ(OffsetsOf(plain, " the"), (Ranges{{1, 4}}));
}

TEST(OffsetsTest, ATokenOfPartsOfACharacterHasAllOfIt) {
  const std::string smile = "\U0001F642";
  const Encoding encoding = BpeOf(false, false).Encode(smile + "\xE2\x82", {}, 512);
  ASSERT_GT(encoding.ids.size(), 4U);
  for (size_t i = 1; i + 1 < encoding.ids.size(); ++i) {
    const ByteRange bytes = encoding.offsets[i];
    EXPECT_TRUE(bytes == (ByteRange{0, 4}) || bytes == (ByteRange{4, 6})) << i;
  }
  // The space that is added has no bytes, nor are those of the character behind it its own.
  EXPECT_EQ(OffsetsOf(BpeOf(true, false), "\u4e2d").front(), (ByteRange{0, 0}));
}

TEST(OffsetsTest, PairsSayWhichTextATokenIsOf) {
  const Tokenizer words = TinyTokenizer();
  const Encoding cut = words.Encode("the houses", "good movie", 7);
  EXPECT_EQ(Shown(cut, "the houses", "good movie"), "/the|hous|/good|movie|/");
  EXPECT_EQ(cut.second_begin, 4U);
  EXPECT_EQ(words.Encode("the", "", 7).second_begin, 3U);
  EXPECT_FALSE(words.Encode("the", {}, 7).second_begin);
  const Encoding bytes = BpeOf(false, false).Encode("the the", "the", 512);
  EXPECT_EQ(Shown(bytes, "the the", "the"), "/the|the|//the|/");
}

TEST(OffsetsTest, HoldWhateverTheText) {
  const std::vector<std::string> parts = {"a",          "the",
                                          " ",          "  ",
                                          "\n",         "\t",
                                          "'s",         "!",
                                          "12",         "\u00e9",
                                          "e\u0301",    "\u0323\u302e",
                                          "\u4e2d",     "\uac01",
                                          "\U0001F642", "\ufffd",
                                          "\xff",       "\xf0\x9f",
                                          "\xe2\x82",   std::string(1, 0),
                                          "\u00ad",     "\u00a0",
                                          "\u3000",     "\u0130",
                                          "\u2260",     std::string(120, 'x')};
  std::vector<Tokenizer> tokenizers;
  for (const bool begin : {false, true}) {
    tokenizers.push_back(WordPieceOf(true, true, begin));
    tokenizers.push_back(WordPieceOf(false, false, begin));
    tokenizers.push_back(BpeOf(false, begin));
    tokenizers.push_back(BpeOf(true, begin));
  }
  TestRandom random(1);
  for (int round = 0; round < 400; ++round) {
    std::string texts[2];
    for (std::string& text : texts) {
      for (uint64_t i = random.Below(12); i > 0; --i) text += parts[random.Below(parts.size())];
    }
    std::optional<std::string_view> pair;
    if (random.Below(2) == 0) pair = texts[1];
    for (const Tokenizer& tokenizer : tokenizers) {
      const uint32_t length = static_cast<uint32_t>(random.Below(30));
      const Encoding encoding = tokenizer.Encode(texts[0], pair, length);
      ASSERT_EQ(ProblemOfOffsets(encoding, texts[0], pair.value_or("")), "") << texts[0] << "\n"
                                                                             << texts[1];
    }
  }
}

}  // namespace
}  // namespace sti
