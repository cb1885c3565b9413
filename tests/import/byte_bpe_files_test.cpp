#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "import/tokenizer_files.h"
#include "network/families.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

using Json = nlohmann::json;

class ByteBpeFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    vocabulary_ = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      vocabulary_[ByteSpelling(static_cast<uint8_t>(byte))] = byte + 4;
    }
    vocabulary_["ab"] = 260;
    vocabulary_["abc"] = 261;
    json_ = {{"model", {{"type", "BPE"}, {"vocab", vocabulary_}, {"merges", {"a b", "ab c"}}}},
             {"normalizer", nullptr},
             {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", true}}},
             {"post_processor",
              {{"type", "RobertaProcessing"}, {"sep", {"</s>", 2}}, {"cls", {"<s>", 0}}}}};
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteBytes(folder_.File(name), text).ok());
  }
  void WriteTwoFiles() {
    Write("vocab.json", vocabulary_.dump());
    Write("merges.txt", "#version: 0.2\na b\nab c\n");
  }
  Result<TokenizerFiles> Read() {
    return ReadTokenizer(folder_.path(), {*FindFamily("roberta"), 300, 7});
  }
  void WriteJsonWith(const char* pointer, const Json& value) {
    Json json = json_;
    json[Json::json_pointer(pointer)] = value;
    Write("tokenizer.json", json.dump());
  }
  void ExpectRefused(const std::string& words) { EXPECT_TRUE(Refused(Read(), words)); }
  void ExpectRefused(const std::string& words, const char* pointer, const Json& value) {
    WriteJsonWith(pointer, value);
    ExpectRefused(words);
  }
  // The files are sound, and of a tokenizer that gives other ids.
  void ExpectUnsupported(const std::string& words) {
    EXPECT_TRUE(FailedWith(Read(), ErrorKind::kForeign, words));
  }
  void ExpectUnsupported(const std::string& words, const char* pointer, const Json& value) {
    WriteJsonWith(pointer, value);
    ExpectUnsupported(words);
  }

  TempFolder folder_;
  Json vocabulary_;
  Json json_;
};

TEST_F(ByteBpeFilesTest, ReadsVocabularyAndMerges) {
  WriteTwoFiles();
  const auto files = Read();
  ASSERT_TRUE(Succeeded(files));
  EXPECT_TRUE(files->vocabulary_text.starts_with("<s>\n<pad>\n</s>\n<unk>\n"));
  EXPECT_TRUE(files->vocabulary_text.ends_with("\nab\nabc\n"));
  EXPECT_EQ(files->merges_text, "a b\nab c\n");
  EXPECT_EQ(files->info.kind, TokenizerKind::kByteBpe);
  EXPECT_EQ(files->info.cls_id, 0U);
  EXPECT_EQ(files->info.pad_id, 1U);
  EXPECT_EQ(files->info.sep_id, 2U);
  EXPECT_EQ(files->info.unknown_id, 3U);
  EXPECT_FALSE(files->info.add_prefix_space);
}

TEST_F(ByteBpeFilesTest, ConfigDecides) {
  WriteTwoFiles();
  Write("tokenizer_config.json", R"({"add_prefix_space": true, "tokenizer_class":
        "RobertaTokenizerFast", "sep_token": "<pad>"})");
  const auto files = Read();
  ASSERT_TRUE(Succeeded(files));
  EXPECT_TRUE(files->info.add_prefix_space);
  EXPECT_EQ(files->info.sep_id, 1U);
  Write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer"})");
  ExpectUnsupported("only RobertaTokenizer");
  Write("tokenizer_config.json", R"({"cls_token": "<start>"})");
  ExpectRefused("no token <start>");
}

TEST_F(ByteBpeFilesTest, ReadsTokenizerJson) {
  Write("tokenizer.json", json_.dump());
  auto files = Read();
  ASSERT_TRUE(Succeeded(files));
  EXPECT_TRUE(files->info.add_prefix_space);
  EXPECT_EQ(files->merges_text, "a b\nab c\n");
  const std::string text = files->vocabulary_text;
  // Newer files spell merges as pairs, and may hold control tokens apart.
  json_["model"]["merges"] = Json::array({Json::array({"a", "b"}), Json::array({"ab", "c"})});
  json_["added_tokens"] = {{{"id", 0}, {"content", "<s>"}, {"special", true}},
                           {{"id", 262}, {"content", "<mask>"}, {"special", true}}};
  Write("tokenizer.json", json_.dump());
  files = Read();
  ASSERT_TRUE(Succeeded(files));
  EXPECT_EQ(files->vocabulary_text, text + "<mask>\n");
  EXPECT_EQ(files->merges_text, "a b\nab c\n");
}

TEST_F(ByteBpeFilesTest, RefusesTokenizersOfOthers) {
  ExpectUnsupported("no BPE", "/model/type", "WordPiece");
  ExpectUnsupported("model.dropout is set", "/model/dropout", 0.1);
  ExpectUnsupported("end_of_word_suffix", "/model/end_of_word_suffix", "</w>");
  ExpectUnsupported("byte_fallback", "/model/byte_fallback", true);
  ExpectUnsupported("normalizer", "/normalizer", {{"type", "NFC"}});
  ExpectUnsupported("pre_tokenizer", "/pre_tokenizer/type", "Metaspace");
  ExpectUnsupported("pre_tokenizer", "/pre_tokenizer/use_regex", false);
  ExpectUnsupported("post_processor", "/post_processor", nullptr);
  ExpectUnsupported("post_processor", "/post_processor/type", "ByteLevel");
  ExpectRefused("add_prefix_space", "/pre_tokenizer/add_prefix_space", 1);
  for (const bool special : {false, true}) {
    ExpectUnsupported("token \"new\" was added", "/added_tokens",
                      {{{"id", 262}, {"content", "new"}, {"special", special}}});
  }
  ExpectRefused("what is no token", "/added_tokens", {{{"id", 262}}});
  ExpectRefused("without gaps", "/added_tokens",
                {{{"id", 270}, {"content", "<mask>"}, {"special", true}}});
  ExpectRefused("id 400, but vocab_size is 300", "/added_tokens",
                {{{"id", 400}, {"content", "<mask>"}, {"special", true}}});
}

TEST_F(ByteBpeFilesTest, RefusesVocabulariesThatAreNone) {
  ExpectRefused("not an object", "/model/vocab", Json::array());
  ExpectRefused("gives id 261 to two tokens", "/model/vocab/ab", 261);
  ExpectRefused("id 5000, but vocab_size is 300", "/model/vocab/ab", 5000);
  ExpectUnsupported("line end", "/model/vocab/a\nb", 262);
  std::filesystem::remove(folder_.File("tokenizer.json"));
  WriteTwoFiles();
  vocabulary_.erase("x");
  vocabulary_["xx"] = 'x' - 0x21 + 4 + 0x21;
  Write("vocab.json", vocabulary_.dump());
  ExpectRefused("no token for byte 120");
  Write("vocab.json", "[]");
  ExpectRefused("not a JSON object");
  Write("vocab.json", std::string(100, '[') + std::string(100, ']'));
  ExpectRefused("nested too deep");
}

TEST_F(ByteBpeFilesTest, RefusesMergesThatAreNone) {
  WriteTwoFiles();
  const std::pair<const char*, const char*> broken[] = {
      {"a b\nb x\n", "merges.txt: merge 2 is of or into \"bx\""},
      {"a zz\n", "is of or into \"zz\""},
      {"a b\na b\n", "merge 2 stands twice"},
      {"ab\n", "not two tokens"},
      {"a b c\n", "not two tokens"}};
  for (const auto& [text, words] : broken) {
    Write("merges.txt", text);
    ExpectRefused(words);
  }
  std::filesystem::remove(folder_.File("merges.txt"));
  ExpectRefused("neither vocab.json with merges.txt nor tokenizer.json");
  ExpectRefused("not a list", "/model/merges", "a b");
  ExpectRefused("not two tokens", "/model/merges", {1});
  ExpectRefused("is of or into", "/model/merges", Json::array({Json::array({"a", "zz"})}));
}

TEST_F(ByteBpeFilesTest, RefusesMoreTokensThanTheModelHas) {
  WriteTwoFiles();
  EXPECT_TRUE(FailedWith(ReadTokenizer(folder_.path(), {*FindFamily("roberta"), 261, 1}),
                         ErrorKind::kDamaged, "id 261, but vocab_size is 261"));
}

}  // namespace
}  // namespace sti
