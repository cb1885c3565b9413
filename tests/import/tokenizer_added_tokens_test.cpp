#include <gtest/gtest.h>

#include <filesystem>

#include "import/tokenizer_files.h"
#include "network/families.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/text.h"

namespace sti {
namespace {

class AddedTokensTest : public testing::Test {
 protected:
  void SetUp() override { Write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n[E1]\n"); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteBytes(folder_.File(name), text).ok());
  }
  /// Reads the tokenizer with one more file, which is gone afterwards.
  Result<TokenizerFiles> ReadWith(const std::string& name, const std::string& text) {
    Write(name, text);
    auto files = ReadTokenizer(folder_.path(), {*FindFamily("bert"), 10, 0},
                               [&](const LogLine& line) { warnings_ += line.what + "\n"; });
    std::filesystem::remove(folder_.File(name));
    return files;
  }
  void ExpectAdded(const std::string& name, const std::string& text, const std::string& token) {
    EXPECT_TRUE(
        FailedWith(ReadWith(name, text), ErrorKind::kForeign,
                   folder_.File(name) + ": token \"" + token + "\" was added to the vocabulary"))
        << text;
  }

  /// Returns a tokenizer.json of the vocabulary with these added tokens.
  static std::string TokenizerWith(const std::string& added) {
    return R"({"model": {"type": "WordPiece", "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2,
               "[SEP]": 3, "[MASK]": 4, "a": 5, "[E1]": 6}},
               "normalizer": {"type": "BertNormalizer"},
               "pre_tokenizer": {"type": "BertPreTokenizer"},
               "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
               "added_tokens": )" +
           added + "}";
  }

  TempFolder folder_;
  std::string warnings_;
};

// [E1] lies in the vocabulary; but text that spells it would be split.
TEST_F(AddedTokensTest, RefusesThemWhereverTheyStand) {
  ExpectAdded("added_tokens.json", R"({"[MASK]": 4, "<user>": 7})", "<user>");
  ExpectAdded("added_tokens.json", R"({"[E1]": 6})", "[E1]");
  ExpectAdded("special_tokens_map.json", R"({"additional_special_tokens": ["[E1]"]})", "[E1]");
  ExpectAdded("special_tokens_map.json",
              R"({"additional_special_tokens": [{"content": "[E1]", "lstrip": false}]})", "[E1]");
  ExpectAdded("tokenizer_config.json", R"({"additional_special_tokens": ["[PAD]", "[E1]"]})",
              "[E1]");
  ExpectAdded("tokenizer_config.json", R"({"extra_special_tokens": {"first": "[E1]"}})", "[E1]");
  ExpectAdded("tokenizer_config.json",
              R"({"added_tokens_decoder": {"0": {"content": "[PAD]"}, "6": {"content": "[E1]"}}})",
              "[E1]");
  ExpectAdded("tokenizer.json", TokenizerWith(R"([{"id": 4, "content": "[MASK]", "special": true},
                                {"id": 6, "content": "[E1]", "special": true}])"),
              "[E1]");
  ExpectAdded("tokenizer_config.json", R"({"image_token": "[E1]"})", "[E1]");
}

// All are named, up to ten.
TEST_F(AddedTokensTest, NamesThemAll) {
  EXPECT_TRUE(FailedWith(ReadWith("added_tokens.json", R"({"<a>": 7, "<b>": 8, "[CLS]": 2})"),
                         ErrorKind::kForeign, "tokens \"<a>\", \"<b>\" were added"));
  std::string many = "{";
  for (int i = 10; i < 110; ++i) many += "\"<" + std::to_string(i) + ">\": 7, ";
  EXPECT_TRUE(FailedWith(ReadWith("added_tokens.json", many + "\"[CLS]\": 2}"), ErrorKind::kForeign,
                         "\"<108>\", \"<109>\" and 90 more were added"));
}

// With a list of them in tokenizer_config.json, transformers reads neither added_tokens.json nor
// special_tokens_map.json; of tokenizer.json version 4 does.
TEST_F(AddedTokensTest, AreReadOfOneFileWhereItListsThem) {
  Write("tokenizer_config.json",
        R"({"added_tokens_decoder": {"3": {"content": "[SEP]"}}, "sep_token": "[SEP]",
            "tokenizer_class": "BertTokenizer"})");
  const std::pair<const char*, std::string> ignored[] = {
      {"added_tokens.json", R"({"[E1]": 6})"},
      {"special_tokens_map.json", R"({"additional_special_tokens": ["[E1]"], "sep_token": "a"})"},
      {"tokenizer.json", TokenizerWith(R"([{"id": 6, "content": "[E1]", "special": true}])")}};
  for (const auto& [name, text] : ignored) {
    const auto read = ReadWith(name, text);
    ASSERT_TRUE(Succeeded(read)) << name;
    EXPECT_EQ(read->info.sep_id, 3u) << name;
  }
  EXPECT_TRUE(Contains(warnings_,
                       "token \"[E1]\" was added to the vocabulary; for BertTokenizer "
                       "transformers 4 reads this and 5 does not"));
  Write("tokenizer_config.json", R"({"added_tokens_decoder": {"3": {"content": "[SEP]"}},
                                     "tokenizer_class": "PreTrainedTokenizerFast"})");
  ExpectAdded("tokenizer.json", ignored[2].second, "[E1]");
}

TEST_F(AddedTokensTest, TakesControlTokens) {
  const std::string tokenizer = TokenizerWith(R"([{"id": 0, "content": "[PAD]"}])");
  const std::pair<const char*, const char*> sound[] = {
      {"added_tokens.json", R"({"[MASK]": 4, "[CLS]": 2})"},
      {"special_tokens_map.json", R"({"mask_token": "[MASK]", "additional_special_tokens": []})"},
      {"special_tokens_map.json",
       R"({"bos_token": "[E1]", "additional_special_tokens": ["[E1]"]})"},
      {"tokenizer_config.json",
       R"({"additional_special_tokens": null, "mask_token": {"content": "a"},
           "added_tokens_decoder": {"5": {"content": "a"}, "3": {"content": "[SEP]"}}})"},
      {"tokenizer.json", tokenizer.c_str()}};
  for (const auto& [name, text] : sound) {
    EXPECT_TRUE(Succeeded(ReadWith(name, text))) << text;
  }
}

// Control tokens are those that special_tokens_map.json names, which comes before
// tokenizer_config.json.
TEST_F(AddedTokensTest, ReadsTheNamesOfControlTokens) {
  const auto named = ReadWith("special_tokens_map.json", R"({"sep_token": "[E1]"})");
  ASSERT_TRUE(Succeeded(named));
  EXPECT_EQ(named->info.sep_id, 6u);
  Write("tokenizer_config.json", R"({"sep_token": "[SEP]",
            "tokenizer_class": "BertTokenizer"})");
  const auto first = ReadWith("special_tokens_map.json", R"({"sep_token": "[E1]"})");
  ASSERT_TRUE(Succeeded(first));
  EXPECT_EQ(first->info.sep_id, 6u);
}

TEST_F(AddedTokensTest, RefusesAControlTokenWithAnotherId) {
  for (const char* text : {R"({"[SEP]": 7})", R"({"[SEP]": -1})", R"({"[SEP]": "3"})"}) {
    EXPECT_TRUE(FailedWith(ReadWith("added_tokens.json", text), ErrorKind::kDamaged,
                           "token \"[SEP]\" does not have its id of the vocabulary, 3"));
  }
  EXPECT_TRUE(FailedWith(
      ReadWith("tokenizer_config.json", R"({"added_tokens_decoder": {"2": {"content": "[SEP]"}}})"),
      ErrorKind::kDamaged, "does not have its id"));
  EXPECT_TRUE(
      FailedWith(ReadWith("tokenizer.json", TokenizerWith(R"([{"id": 2, "content": "[SEP]"}])")),
                 ErrorKind::kDamaged, "does not have its id"));
}

TEST_F(AddedTokensTest, RefusesWhatIsNoToken) {
  const std::string tokenizer = TokenizerWith(R"([{"content": 1}])");
  const std::pair<const char*, const char*> broken[] = {
      {"added_tokens.json", "[]"},
      {"special_tokens_map.json", R"({"additional_special_tokens": "[E1]"})"},
      {"special_tokens_map.json", R"({"additional_special_tokens": [3]})"},
      {"tokenizer_config.json", R"({"added_tokens_decoder": []})"},
      {"tokenizer_config.json", R"({"added_tokens_decoder": {"0x": {"content": "[PAD]"}}})"},
      {"tokenizer_config.json", R"({"added_tokens_decoder": {"0": {"text": "[PAD]"}}})"},
      {"tokenizer.json", tokenizer.c_str()},
      {"tokenizer.json", "{"}};
  for (const auto& [name, text] : broken) {
    EXPECT_TRUE(FailedWith(ReadWith(name, text), ErrorKind::kDamaged, folder_.File(name))) << text;
  }
}

// A token of a file reaches the terminal as text.
TEST_F(AddedTokensTest, NamesNoControlCharacters) {
  ExpectAdded("added_tokens.json", R"({"\u001b[2J\n": 7})", "?[2J?");
}

}  // namespace
}  // namespace sti
