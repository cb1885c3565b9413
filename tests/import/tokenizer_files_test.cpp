#include "import/tokenizer_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "network/families.h"
#include "support/safetensors_writer.h"
#include "support/text.h"

namespace sti {
namespace {

using Json = nlohmann::json;

class TokenizerFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "tokenizer_files_test." + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
    json_ = {
        {"model",
         {{"type", "WordPiece"}, {"vocab", {{"[UNK]", 1}, {"[CLS]", 0}, {"[SEP]", 2}, {"a", 3}}}}},
        {"normalizer", {{"type", "BertNormalizer"}, {"lowercase", false}}},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
        {"post_processor",
         {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 0}}}}};
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteBytes(dir_ + "/" + name, text).ok());
  }
  Result<TokenizerFiles> Read() { return ReadTokenizer(dir_, {*FindFamily("bert"), 10, 7}); }
  std::string FailureOf(ErrorKind kind = ErrorKind::kDamaged) {
    const auto files = Read();
    EXPECT_FALSE(files.ok());
    if (files.ok()) return "";
    EXPECT_EQ(files.error().kind, kind) << files.error().Message();
    return files.error().Message();
  }
  std::string FailureOf(const Json& tokenizer, ErrorKind kind = ErrorKind::kDamaged) {
    Write("tokenizer.json", tokenizer.dump());
    return FailureOf(kind);
  }

  std::string dir_;
  Json json_;
};

TEST_F(TokenizerFilesTest, ReadsVocabTxt) {
  Write("vocab.txt", "[PAD]\r\n[SEP]\r\n[CLS]\r\n[UNK]\r\na");
  const auto files = Read();
  ASSERT_TRUE(files.ok()) << files.error().Message();
  EXPECT_EQ(files->vocabulary_text, "[PAD]\n[SEP]\n[CLS]\n[UNK]\na\n");
  EXPECT_EQ(files->info.pad_id, 0u);
  EXPECT_EQ(files->info.sep_id, 1u);
  EXPECT_EQ(files->info.cls_id, 2u);
  EXPECT_EQ(files->info.unknown_id, 3u);
  EXPECT_TRUE(files->info.lowercase && files->info.strip_accents && files->info.split_chinese);
}

TEST_F(TokenizerFilesTest, ConfigDecides) {
  Write("vocab.txt", "<u>\n<c>\n[SEP]\n");
  Write("tokenizer_config.json",
        R"({"do_lower_case": false, "tokenize_chinese_chars": false, "unk_token": "<u>",
            "cls_token": {"content": "<c>"}, "strip_accents": null})");
  const auto files = Read();
  ASSERT_TRUE(files.ok()) << files.error().Message();
  EXPECT_FALSE(files->info.lowercase || files->info.strip_accents || files->info.split_chinese);
  EXPECT_EQ(files->info.cls_id, 1u);
  EXPECT_EQ(files->info.pad_id, 7u) << "from config.json, as the vocabulary has none";
}

TEST_F(TokenizerFilesTest, RefusesABrokenConfig) {
  Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  for (const char* text : {"[]", "{", R"({"do_lower_case": 1})", R"({"unk_token": 3})",
                           R"({"unk_token": {}})", R"({"cls_token": {"content": 1}})"}) {
    Write("tokenizer_config.json", text);
    EXPECT_TRUE(Contains(FailureOf(), "tokenizer_config.json")) << text;
  }
  Write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kForeign), "only BertTokenizer is supported"));
}

TEST_F(TokenizerFilesTest, NamesAMissingControlToken) {
  Write("vocab.txt", "[UNK]\n[CLS]\n");
  EXPECT_TRUE(Contains(FailureOf(), "no token [SEP]"));
  Write("vocab.txt", "");
  EXPECT_TRUE(Contains(FailureOf(), "no token [UNK]"));
}

TEST_F(TokenizerFilesTest, RefusesMoreTokensThanTheModelHas) {
  Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n1\n2\n3\n4\n5\n6\n7\n8\n");
  EXPECT_TRUE(Contains(FailureOf(), "11 tokens, but vocab_size is 10"));
}

// An empty line is a token that no text has; at the end it may stand for none.
TEST_F(TokenizerFilesTest, DropsEmptyLinesAtTheEndThatTheModelHasNoRowFor) {
  Write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n1\n2\n\n4\n5\n6\n\n\n\n");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(Read()->vocabulary_text, "[UNK]\n[CLS]\n[SEP]\n1\n2\n\n4\n5\n6\n\n");
}

// As transformers 5 reads it; of equal tokens the last counts.
TEST_F(TokenizerFilesTest, WhiteSpaceAtTheEndOfALineIsNoPartOfItsToken) {
  Write("vocab.txt",
        "[UNK]\n[CLS]\n[SEP]\n a\nb\t\nc\xC2\xA0\xE3\x80\x80 \n\xE2\x80\x83\nd\xC3\xA9\n");
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(Read()->vocabulary_text, "[UNK]\n[CLS]\n[SEP]\n a\nb\nc\n\nd\xC3\xA9\n");
}

TEST_F(TokenizerFilesTest, ReadsTokenizerJson) {
  Write("tokenizer.json", json_.dump());
  auto files = Read();
  ASSERT_TRUE(files.ok()) << files.error().Message();
  EXPECT_EQ(files->vocabulary_text, "[CLS]\n[UNK]\n[SEP]\na\n");
  EXPECT_FALSE(files->info.lowercase || files->info.strip_accents);
  EXPECT_TRUE(files->info.split_chinese);
}

// An id without a token is a line that no text has.
TEST_F(TokenizerFilesTest, FillsGapsOfIds) {
  json_["model"]["vocab"]["a"] = 6;
  Write("tokenizer.json", json_.dump());
  ASSERT_TRUE(Read().ok());
  EXPECT_EQ(Read()->vocabulary_text, "[CLS]\n[UNK]\n[SEP]\n\n\n\na\n");
}

TEST_F(TokenizerFilesTest, RefusesOtherTokenizers) {
  const auto with = [&](const char* pointer, const Json& value) {
    Json json = json_;
    json[Json::json_pointer(pointer)] = value;
    return json;
  };
  const auto unsupported = [&](const char* pointer, const Json& value) {
    return FailureOf(with(pointer, value), ErrorKind::kForeign);
  };
  EXPECT_TRUE(Contains(unsupported("/model/type", "BPE"), "no WordPiece"));
  EXPECT_TRUE(Contains(unsupported("/normalizer/type", "NFC"), "no BertNormalizer"));
  unsupported("/normalizer", nullptr);
  unsupported("/normalizer/clean_text", false);
  unsupported("/model/continuing_subword_prefix", "@@");
  unsupported("/model/max_input_chars_per_word", 50);
  unsupported("/model/vocab", {{"a\nb", 0}});
  unsupported("/normalizer/lowercase", "yes");
  unsupported("/pre_tokenizer/type", "Whitespace");
  unsupported("/post_processor/type", "RobertaProcessing");
  unsupported("/post_processor", nullptr);
  FailureOf(with("/model/vocab", Json::array()));
  EXPECT_TRUE(Contains(FailureOf(with("/model/vocab/a", 10)), "id 10, but vocab_size is 10"));
  EXPECT_TRUE(Contains(FailureOf(with("/model/vocab/a", 2)), "gives id 2 to two tokens"));
  FailureOf(with("/model/vocab/a", -1));
}

}  // namespace
}  // namespace sti
