// Which file decides on what, by the class of the tokenizer: the cells of the table in
// spec/model-folder.md. What is expected is what AutoTokenizer of transformers 5.24 does.
#include "import/tokenizer_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "import/tokenizer_files.h"
#include "network/families.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"
#include "support/text.h"

namespace sti {
namespace {

using Json = nlohmann::json;

Json Template(const std::vector<std::pair<const char*, int>>& pieces) {
  Json list = Json::array();
  for (const auto& [id, type] : pieces) {
    const bool text = std::string(id) == "A" || std::string(id) == "B";
    list.push_back({{text ? "Sequence" : "SpecialToken", {{"id", id}, {"type_id", type}}}});
  }
  return list;
}

class TokenizerSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    json_ = {{"model",
              {{"type", "WordPiece"},
               {"unk_token", "[UNK]"},
               {"continuing_subword_prefix", "##"},
               {"max_input_chars_per_word", 100},
               {"vocab", {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"[MASK]", 4}}}}},
             {"normalizer",
              {{"type", "BertNormalizer"},
               {"clean_text", true},
               {"lowercase", false},
               {"strip_accents", nullptr},
               {"handle_chinese_chars", false}}},
             {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
             {"post_processor",
              {{"type", "TemplateProcessing"},
               {"single", Template({{"[CLS]", 0}, {"A", 0}, {"[SEP]", 0}})},
               {"pair", Template({{"[CLS]", 0}, {"A", 0}, {"[SEP]", 0}, {"B", 1}, {"[SEP]", 1}})},
               {"special_tokens",
                {{"[CLS]", {{"id", "[CLS]"}, {"ids", {2}}, {"tokens", {"[CLS]"}}}},
                 {"[SEP]", {{"id", "[SEP]"}, {"ids", {3}}, {"tokens", {"[SEP]"}}}}}}}},
             {"truncation", nullptr},
             {"added_tokens", Json::array()}};
    Write("config.json", {{"model_type", "bert"}});
  }

  void Write(const std::string& name, const Json& json) {
    ASSERT_TRUE(WriteBytes(folder_.File(name), json.dump()).ok());
  }
  void WriteLines(const std::string& text) {
    ASSERT_TRUE(WriteBytes(folder_.File("vocab.txt"), text).ok());
  }
  Result<TokenizerFiles> Read(std::string_view model_type = "bert") {
    warnings_.clear();
    const uint32_t rows = model_type == "roberta" ? 300 : 100;
    return ReadTokenizer(folder_.path(), {*FindFamily(model_type), rows, 0},
                         [&](const LogLine& line) { warnings_ += line.what + "\n"; });
  }
  /// Reads with tokenizer.json and settings.
  Result<TokenizerFiles> ReadWith(const Json& settings) {
    Write("tokenizer.json", json_);
    Write("tokenizer_config.json", settings);
    return Read();
  }
  static std::string Switches(const Result<TokenizerFiles>& files) {
    if (!files.ok()) return files.error().Message();
    const TokenizerInfo& info = files->info;
    return std::string(info.lowercase ? "lower" : "cased") +
           (info.strip_accents ? " strip" : " keep") + (info.split_chinese ? " split" : " join") +
           " type " + std::to_string(info.second_type);
  }

  TempFolder folder_;
  Json json_;
  std::string warnings_;
};

// tokenizer.json says: cased, accents as case, Chinese characters together.
TEST_F(TokenizerSourceTest, SwitchesAreTheClasssOrOfTokenizerJson) {
  const std::pair<Json, const char*> cells[] = {
      {Json::object(), "lower strip split type 1"},
      {{{"tokenizer_class", nullptr}}, "lower strip split type 1"},
      {{{"tokenizer_class", "BertTokenizer"}}, "lower strip split type 1"},
      {{{"tokenizer_class", "BertTokenizerFast"}}, "lower strip split type 1"},
      {{{"tokenizer_class", "BertTokenizer"}, {"do_lower_case", false}}, "cased keep split type 1"},
      {{{"tokenizer_class", "BertTokenizer"}, {"strip_accents", false}}, "lower keep split type 1"},
      {{{"do_lower_case", false}, {"strip_accents", true}}, "cased strip split type 1"},
      {{{"tokenize_chinese_chars", false}}, "lower strip join type 1"},
      {{{"tokenizer_class", "DistilBertTokenizer"}}, "lower strip split type 0"},
      {{{"tokenizer_class", "DistilBertTokenizerFast"}, {"do_lower_case", false}},
       "cased keep split type 0"},
      {{{"tokenizer_class", "PreTrainedTokenizerFast"}}, "cased keep join type 0"},
      {{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"do_lower_case", true}},
       "cased keep join type 0"},
      {{{"tokenizer_class", "TokenizersBackend"}, {"strip_accents", true}},
       "cased keep join type 0"},
      {{{"tokenizer_class", "TokenizersBackend"},
        {"model_input_names", {"input_ids", "token_type_ids"}}},
       "cased keep join type 1"},
      {{{"model_input_names", {"input_ids"}}}, "lower strip split type 0"},
  };
  for (const auto& [settings, expected] : cells) {
    EXPECT_EQ(Switches(ReadWith(settings)), expected) << settings;
  }
}

// Whatever the class, tokenizer.json's vocabulary comes first; generic classes read no other.
TEST_F(TokenizerSourceTest, TheVocabularyIsTokenizerJsons) {
  const char* const kStale = "[UNK]\n[PAD]\n[CLS]\n[SEP]\n[MASK]\n";
  WriteLines(kStale);
  for (const char* name : {"BertTokenizer", "DistilBertTokenizer", "PreTrainedTokenizerFast"}) {
    const auto files = ReadWith({{"tokenizer_class", name}});
    ASSERT_TRUE(Succeeded(files));
    EXPECT_EQ(files->vocabulary_text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n") << name;
    EXPECT_TRUE(Contains(warnings_, "vocab.txt: has other tokens than tokenizer.json")) << name;
  }
  WriteLines("[PAD]\r\n[UNK]\r\n[CLS]\n[SEP]\n[MASK]\n\n");
  EXPECT_TRUE(Succeeded(ReadWith({{"tokenizer_class", "BertTokenizer"}})));
  EXPECT_FALSE(Contains(warnings_, "other tokens")) << "line ends and empty lines are no tokens";
  std::filesystem::remove(folder_.File("tokenizer.json"));
  WriteLines(kStale);
  Write("tokenizer_config.json", {{"tokenizer_class", "BertTokenizer"}});
  EXPECT_EQ(Read()->vocabulary_text, kStale);
  Write("tokenizer_config.json", {{"tokenizer_class", "PreTrainedTokenizerFast"}});
  EXPECT_TRUE(FailedWith(Read(), ErrorKind::kNoSuchFile, "which reads tokenizer.json alone"));
}

// A token that stands twice in vocab.txt has the last id in tokenizer.json.
TEST_F(TokenizerSourceTest, AGapOfTokenizerJsonIsALineThatStandsTwice) {
  json_["model"]["vocab"]["a"] = 6;
  WriteLines("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\na\n");
  const auto files = ReadWith({{"tokenizer_class", "BertTokenizer"}});
  ASSERT_TRUE(Succeeded(files));
  EXPECT_EQ(warnings_, "");
  EXPECT_EQ(files->vocabulary_text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n\na\n");
}

TEST_F(TokenizerSourceTest, TheClassIsFoundInOrder) {
  Write("config.json", {{"model_type", "bert"}, {"tokenizer_class", "BertJapaneseTokenizer"}});
  const char* const kOnly = "only BertTokenizer is supported";
  EXPECT_TRUE(FailedWith(ReadWith(Json::object()), ErrorKind::kForeign,
                         folder_.File("config.json") +
                             ": tokenizer_class is \"BertJapaneseTokenizer\"; for this model "));
  EXPECT_TRUE(Succeeded(ReadWith({{"tokenizer_class", "BertTokenizer"}})));
  for (const char* name : {"RobertaTokenizer", "GPT2Tokenizer", "FooTokenizer", ""}) {
    EXPECT_TRUE(FailedWith(ReadWith({{"tokenizer_class", name}}), ErrorKind::kForeign, kOnly));
  }
  // Without a class that of the model's type; without this too, whatever tokenizer.json says.
  Write("config.json", {{"model_type", "roberta"}});
  EXPECT_TRUE(FailedWith(ReadWith(Json::object()), ErrorKind::kForeign, kOnly));
  Write("config.json", {{"model_type", "xlm-roberta"}});
  EXPECT_TRUE(FailedWith(ReadWith(Json::object()), ErrorKind::kForeign,
                         "the tokenizer is that of model_type \"xlm-roberta\""));
  Write("config.json", Json::object());
  EXPECT_EQ(Switches(ReadWith(Json::object())), "cased keep join type 0");
  std::filesystem::remove(folder_.File("config.json"));
  EXPECT_EQ(Switches(ReadWith(Json::object())), "cased keep join type 0");
}

// The class comes before the files: another model's tokenizer is no remedy.
TEST_F(TokenizerSourceTest, TheClassIsLookedAtBeforeTheFiles) {
  Write("tokenizer_config.json", {{"tokenizer_class", "PhobertTokenizer"}});
  const auto files = Read("roberta");
  EXPECT_TRUE(FailedWith(files, ErrorKind::kForeign, "tokenizer_class is \"PhobertTokenizer\""));
  EXPECT_EQ(files.error().remedy, Remedy());
}

// Steps that BERT's class does not read are read by version 4.
TEST_F(TokenizerSourceTest, StepsOfTokenizerJsonAreReadRefusedOrWarnedOf) {
  const std::tuple<const char*, Json, const char*> steps[] = {
      {"/normalizer/type", "Lowercase", "the normalizer is Lowercase"},
      {"/normalizer/clean_text", false, "clean_text of the normalizer is false"},
      {"/pre_tokenizer/type", "Whitespace", "the pre_tokenizer is Whitespace"},
      {"/post_processor", nullptr, "the post_processor is missing"},
      {"/post_processor/single", Template({{"A", 0}}), "the post_processor is TemplateProcessing"},
      {"/post_processor/pair",
       Template({{"[CLS]", 0}, {"A", 0}, {"[SEP]", 0}, {"[SEP]", 0}, {"B", 0}, {"[SEP]", 0}}),
       "the post_processor "},
      {"/model/continuing_subword_prefix", "@@", "pieces continue with another prefix"},
      {"/model/max_input_chars_per_word", 50, "words may have another length"},
  };
  const Json sound = json_;
  for (const auto& [pointer, value, words] : steps) {
    json_ = sound;
    json_[Json::json_pointer(pointer)] = value;
    EXPECT_EQ(Switches(ReadWith({{"tokenizer_class", "BertTokenizer"}})),
              "lower strip split type 1");
    EXPECT_TRUE(Contains(warnings_, folder_.File("tokenizer.json") + ": " + words)) << warnings_;
    EXPECT_TRUE(Contains(warnings_, "texts are read as 5 reads them"));
    EXPECT_TRUE(FailedWith(ReadWith({{"tokenizer_class", "PreTrainedTokenizerFast"}}),
                           ErrorKind::kForeign, words));
  }
  json_ = sound;
  EXPECT_TRUE(Succeeded(ReadWith({{"tokenizer_class", "BertTokenizer"}})));
  EXPECT_EQ(warnings_, "");
  EXPECT_TRUE(Succeeded(ReadWith({{"tokenizer_class", "PreTrainedTokenizerFast"}})));
  EXPECT_TRUE(Contains(warnings_, "both texts of a pair have token type 0"));
}

// BERT's class takes control tokens from settings, generic ones from the steps.
TEST_F(TokenizerSourceTest, ControlTokens) {
  const auto ids = [](const Result<TokenizerFiles>& files) {
    if (!files.ok()) return std::vector<uint32_t>();
    return std::vector<uint32_t>{files->info.unknown_id, files->info.cls_id, files->info.sep_id};
  };
  using Ids = std::vector<uint32_t>;
  json_["model"]["unk_token"] = "[MASK]";
  Json settings = {{"tokenizer_class", "BertTokenizer"}, {"cls_token", "[PAD]"}};
  EXPECT_EQ(ids(ReadWith(settings)), (Ids{1, 0, 3}));
  EXPECT_TRUE(Contains(warnings_, "model.unk_token is not the unk_token"));
  EXPECT_TRUE(Contains(warnings_, "the post_processor has other control tokens"));
  settings["tokenizer_class"] = "PreTrainedTokenizerFast";
  EXPECT_EQ(ids(ReadWith(settings)), (Ids{4, 2, 3}));
  Write("special_tokens_map.json",
        {{"sep_token", {{"content", "[MASK]"}}}, {"cls_token", "[SEP]"}});
  EXPECT_EQ(ids(ReadWith(settings)), (Ids{4, 2, 3}));
  settings["tokenizer_class"] = "BertTokenizer";
  EXPECT_EQ(ids(ReadWith(settings)), (Ids{1, 3, 4}));
  settings["added_tokens_decoder"] = Json::object();
  EXPECT_EQ(ids(ReadWith(settings)), (Ids{1, 0, 3}));
  settings["sep_token"] = nullptr;
  EXPECT_TRUE(FailedWith(ReadWith(settings), ErrorKind::kForeign, "sep_token is null"));
}

TEST_F(TokenizerSourceTest, WhereTextsAreCut) {
  const auto cut = [](const Result<TokenizerFiles>& files) {
    if (!files.ok()) return files.error().Message();
    return (files->info.cuts_begin ? "begin " : "end ") + std::to_string(files->info.max_length);
  };
  const double kNone = 1e30;
  const std::pair<Json, const char*> cells[] = {
      {Json::object(), "end 0"},
      {{{"truncation_side", "left"}, {"model_max_length", 8}}, "begin 8"},
      {{{"truncation_side", "right"}, {"max_len", 9}}, "end 9"},
      {{{"model_max_length", nullptr}, {"max_len", 9}}, "end 0"},
      {{{"model_max_length", kNone}}, "end 0"},
      {{{"model_max_length", 1000000}}, "end 0"},
  };
  for (const auto& [settings, expected] : cells) {
    EXPECT_EQ(cut(ReadWith(settings)), expected) << settings;
  }
  for (const Json& bad : {Json(3), Json(0), Json(-1), Json(9.5), Json("9")}) {
    EXPECT_TRUE(Refused(ReadWith({{"model_max_length", bad}}), "model_max_length is not")) << bad;
  }
  EXPECT_TRUE(Refused(ReadWith({{"truncation_side", "middle"}}), "truncation_side is neither"));
  json_["truncation"] = {{"direction", "Left"}, {"max_length", 6}, {"stride", 0}};
  for (const char* name : {"BertTokenizer", "PreTrainedTokenizerFast"}) {
    EXPECT_EQ(cut(ReadWith({{"tokenizer_class", name}})), "begin 0");
    EXPECT_EQ(cut(ReadWith({{"tokenizer_class", name}, {"truncation_side", "right"}})), "end 0");
  }
}

// Settings that stand for files would replace those that are there.
TEST_F(TokenizerSourceTest, SettingsThatReplaceFilesAreRefused) {
  for (const char* key : {"vocab", "merges", "init_inputs", "fast_tokenizer_files"}) {
    EXPECT_TRUE(FailedWith(ReadWith({{key, {"a"}}}), ErrorKind::kForeign, "stands for files"));
    EXPECT_TRUE(Succeeded(ReadWith({{key, Json::array()}})));
  }
}

TEST_F(TokenizerSourceTest, WarnsWhereManyIdsHaveNoToken) {
  const auto warned = [&](uint32_t rows) {
    warnings_.clear();
    const auto files = ReadTokenizer(folder_.path(), {*FindFamily("bert"), rows, 0},
                                     [&](const LogLine& line) { warnings_ += line.what; });
    EXPECT_TRUE(Succeeded(files));
    return Contains(warnings_, "the vocabulary has 5 tokens, the model " + std::to_string(rows));
  };
  Write("tokenizer.json", json_);
  EXPECT_FALSE(warned(132));
  EXPECT_TRUE(warned(133));
}

/// RoBERTa's, with a tokenizer.json that begins texts as after a space.
class RobertaSourceTest : public TokenizerSourceTest {
 protected:
  void SetUp() override {
    Json vocabulary = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
    for (uint32_t byte = 0; byte < 256; ++byte) {
      vocabulary[ByteSpelling(static_cast<uint8_t>(byte))] = byte + 4;
    }
    json_ = {{"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}},
             {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", true}}},
             {"post_processor",
              {{"type", "RobertaProcessing"}, {"sep", {"</s>", 2}}, {"cls", {"<s>", 0}}}}};
    Write("config.json", {{"model_type", "roberta"}});
  }
  std::string SpaceWith(const Json& settings) {
    Write("tokenizer.json", json_);
    Write("tokenizer_config.json", settings);
    const auto files = Read("roberta");
    if (!files.ok()) return files.error().Message();
    return files->info.add_prefix_space ? "space" : "none";
  }
};

TEST_F(RobertaSourceTest, TheSpaceInFrontIsTheClasssOrOfTokenizerJson) {
  EXPECT_EQ(SpaceWith(Json::object()), "none");
  EXPECT_EQ(SpaceWith({{"tokenizer_class", "RobertaTokenizer"}}), "none");
  EXPECT_EQ(warnings_, "");
  EXPECT_EQ(SpaceWith({{"add_prefix_space", true}}), "space");
  EXPECT_EQ(SpaceWith({{"tokenizer_class", "PreTrainedTokenizerFast"}}), "space");
  EXPECT_EQ(warnings_, "");
  EXPECT_EQ(
      SpaceWith({{"tokenizer_class", "PreTrainedTokenizerFast"}, {"add_prefix_space", false}}),
      "space");
  EXPECT_TRUE(Contains(warnings_, "add_prefix_space is not that of tokenizer.json"));
}

TEST_F(RobertaSourceTest, StepsOfTokenizerJsonAreReadRefusedOrWarnedOf) {
  json_["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_EQ(SpaceWith({{"tokenizer_class", "RobertaTokenizer"}}), "none");
  EXPECT_TRUE(Contains(warnings_, "the normalizer is Lowercase and not missing; for RobertaToken"));
  EXPECT_TRUE(Contains(SpaceWith({{"tokenizer_class", "PreTrainedTokenizerFast"}}),
                       "the normalizer is Lowercase"));
  EXPECT_TRUE(Contains(SpaceWith({{"tokenizer_class", "BertTokenizer"}}),
                       "only RobertaTokenizer is supported"));
}

TEST_F(RobertaSourceTest, FilesApartThatSayOtherwiseAreWarnedOf) {
  Json vocabulary = json_["model"]["vocab"];
  Write("vocab.json", vocabulary);
  ASSERT_TRUE(WriteBytes(folder_.File("merges.txt"), "#version: 0.2\n").ok());
  EXPECT_EQ(SpaceWith(Json::object()), "none");
  EXPECT_EQ(warnings_, "");
  std::swap(vocabulary["a"], vocabulary["b"]);
  Write("vocab.json", vocabulary);
  EXPECT_EQ(SpaceWith(Json::object()), "none");
  EXPECT_TRUE(Contains(warnings_, "vocab.json: has other tokens than tokenizer.json"));
}

}  // namespace
}  // namespace sti
