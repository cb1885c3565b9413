// Folders of sentence-transformers: what their files say, and which are refused.
#include "import/sentence_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/remedy.h"
#include "import/model_folder.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace sti {
namespace {

class SentenceFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(WriteTinyModel(dir_).ok());
    ASSERT_TRUE(AddSentenceModules(dir_).ok());
  }
  void Put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(dir_ + "/" + name).parent_path());
    ASSERT_TRUE(WriteBytes(dir_ + "/" + name, text).ok());
  }
  [[nodiscard]] Result<SentenceModel> Read() {
    STI_ASSIGN_OR_RETURN(auto model, ReadSentenceModel(dir_, [this](const LogLine& line) {
                           warnings_.push_back(line);
                         }));
    return *model;
  }
  /// Returns modules.json of modules with these classes and paths.
  static std::string Modules(const std::vector<std::pair<std::string, std::string>>& modules) {
    std::string json;
    for (const auto& [type, path] : modules) {
      json += json.empty() ? "[" : ",";
      json += R"({"type": ")" + type + R"(", "path": ")" + path + "\"}";
    }
    return json + "]";
  }

  TempFolder folder_;
  std::string dir_ = folder_.File("model");
  std::vector<LogLine> warnings_;
};

TEST_F(SentenceFolder, SaysHeadLengthAndCase) {
  const auto model = Read();
  ASSERT_TRUE(Succeeded(model));
  EXPECT_EQ(model->head, (HeadTraits{HeadOutput::kEmbedding, Pooling::kMean, true}));
  EXPECT_EQ(model->encoder, dir_);
  EXPECT_EQ(model->max_length, 12U);
  EXPECT_FALSE(model->lowercases);
  EXPECT_TRUE(warnings_.empty());
  Put("sentence_bert_config.json", R"({"max_seq_length": null, "do_lower_case": true})");
  EXPECT_EQ(Read()->max_length, std::nullopt);
  EXPECT_TRUE(Read()->lowercases);
}

TEST_F(SentenceFolder, WithoutModulesIsNone) {
  std::filesystem::remove(dir_ + "/modules.json");
  const auto model = ReadSentenceModel(dir_, {});
  ASSERT_TRUE(Succeeded(model));
  EXPECT_FALSE(model->has_value());
}

TEST_F(SentenceFolder, PoolingHasTwoSpellings) {
  const std::pair<const char*, Pooling> kCases[] = {
      {R"({"pooling_mode": "cls"})", Pooling::kFirst},
      {R"({"pooling_mode": ["max"]})", Pooling::kMaximum},
      {R"({"pooling_mode_cls_token": true})", Pooling::kFirst},
      {R"({"pooling_mode": "max", "pooling_mode_cls_token": true})", Pooling::kMaximum},
      {R"({"pooling_mode_cls_token": false})", Pooling::kMean},
      {"{}", Pooling::kMean},
  };
  for (const auto& [json, pooling] : kCases) {
    Put("1_Pooling/config.json", json);
    const auto model = Read();
    ASSERT_TRUE(Succeeded(model)) << json;
    EXPECT_EQ(model->head.pooling, pooling) << json;
  }
  for (const auto& [json, problem] : {
           std::pair(R"({"pooling_mode": "lasttoken"})", "\"lasttoken\"; supported are cls, mean"),
           std::pair(R"({"pooling_mode": ["cls", "mean"]})", "[\"cls\",\"mean\"]"),
           std::pair(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})",
                     "\"cls+mean\""),
           std::pair(R"({"include_prompt": false})", "include_prompt"),
       }) {
    Put("1_Pooling/config.json", json);
    EXPECT_TRUE(FailedWith(Read(), ErrorKind::kForeign, problem));
  }
}

TEST_F(SentenceFolder, ModulesAreThreeInOrder) {
  const std::pair<std::string, std::string> transformer{"a.b.Transformer", ""};
  const std::pair<std::string, std::string> pooling{"Pooling", "1_Pooling"};
  const std::pair<std::string, std::string> normalize{"a.Normalize", "2_Normalize"};
  Put("modules.json", Modules({transformer, pooling}));
  EXPECT_FALSE(Read()->head.unit_length);
  Put("modules.json", Modules({transformer, pooling, normalize}));
  EXPECT_TRUE(Read()->head.unit_length);
  for (const auto& [json, problem] : {
           std::pair(Modules({transformer, pooling, {"a.Dense", "2_Dense"}}),
                     "module 2 is a \"Dense\"; supported are Transformer, Pooling and Normalize"),
           std::pair(Modules({transformer, normalize}), "module 1 is a \"Normalize\""),
           std::pair(Modules({pooling}), "module 0 is a \"Pooling\""),
           std::pair(Modules({transformer, pooling, normalize, normalize}), "module 3"),
           std::pair(Modules({transformer}), "a Transformer without a Pooling"),
       }) {
    Put("modules.json", json);
    EXPECT_TRUE(FailedWith(Read(), ErrorKind::kForeign, problem));
  }
  for (const std::string& json : {std::string("[]"), std::string("[1]"), std::string("{}"),
                                  Modules({{"Transformer", "../other"}})}) {
    Put("modules.json", json);
    EXPECT_TRUE(FailedWith(Read(), ErrorKind::kDamaged, "modules.json"));
  }
}

TEST_F(SentenceFolder, PromptsAreWarnedOf) {
  Put("config_sentence_transformers.json",
      R"({"prompts": {"query": "query: ", "document": ""}, "default_prompt_name": "query"})");
  ASSERT_TRUE(Succeeded(Read()));
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].what.find("before its texts: query \"query: \"; the usual one is query"),
            std::string::npos);
  EXPECT_EQ(warnings_[0].remedy, Remedy::kGivePrefix);
}

TEST_F(SentenceFolder, OpensAsAModelThatEmbeds) {
  const auto folder = ModelFolder::Open(dir_);
  ASSERT_TRUE(Succeeded(folder));
  EXPECT_FALSE(folder->info().has_labels());
  EXPECT_EQ(folder->info().max_length(), 12U);
  EXPECT_EQ(folder->info().pooler, PoolerActivation::kNone);
  EXPECT_TRUE(folder->info().labels.empty());
}

TEST_F(SentenceFolder, MayHaveItsEncoderInAFolderOfItsOwn) {
  const std::string whole = folder_.File("older");
  std::filesystem::create_directories(whole + "/1_Pooling");
  std::filesystem::rename(dir_ + "/1_Pooling/config.json", whole + "/1_Pooling/config.json");
  std::filesystem::rename(dir_, whole + "/0_Transformer");
  std::filesystem::remove(whole + "/0_Transformer/modules.json");
  ASSERT_TRUE(WriteBytes(whole + "/modules.json",
                         Modules({{"Transformer", "0_Transformer"}, {"Pooling", "1_Pooling"}}))
                  .ok());
  const auto folder = ModelFolder::Open(whole);
  ASSERT_TRUE(Succeeded(folder));
  EXPECT_FALSE(folder->info().has_labels());
}

TEST_F(SentenceFolder, CaseIsThatOfWordPiece) {
  Put("tokenizer_config.json", R"({"do_lower_case": false, "tokenizer_class": "BertTokenizer"})");
  EXPECT_FALSE(ModelFolder::Open(dir_)->info().tokenizer.lowercase);
  Put("sentence_bert_config.json", R"({"do_lower_case": true})");
  const auto folder = ModelFolder::Open(dir_);
  ASSERT_TRUE(Succeeded(folder));
  EXPECT_TRUE(folder->info().tokenizer.lowercase);
  EXPECT_FALSE(folder->info().tokenizer.strip_accents) << "as the tokenizer has it";
  const std::string roberta = folder_.File("roberta");
  std::filesystem::copy(STI_SOURCE_DIR "/tests/data/roberta-tiny", roberta);
  ASSERT_TRUE(AddSentenceModules(roberta).ok());
  ASSERT_TRUE(
      WriteBytes(roberta + "/sentence_bert_config.json", R"({"do_lower_case": true})").ok());
  EXPECT_TRUE(FailedWith(ModelFolder::Open(roberta), ErrorKind::kForeign, "do_lower_case"));
}

TEST_F(SentenceFolder, APlainEncoderNeedsAPooling) {
  std::filesystem::remove(dir_ + "/modules.json");
  const auto plain = ModelFolder::Open(dir_, {.pooling = Pooling::kMaximum});
  ASSERT_TRUE(Succeeded(plain));
  EXPECT_EQ(plain->info().head, (HeadTraits{HeadOutput::kEmbedding, Pooling::kMaximum, false}));
  EXPECT_EQ(plain->info().max_length(), 32U) << "the other files belong to modules.json";
  EXPECT_TRUE(ModelFolder::Open(dir_)->info().has_labels());
  std::string config = TinyConfig({});
  config.replace(config.find("BertForSequenceClassification"), 29, "BertModel");
  Put("config.json", config);
  EXPECT_TRUE(
      FailedWith(ModelFolder::Open(dir_), ErrorKind::kForeign, "no classifier of texts or tokens"));
  EXPECT_EQ(ModelFolder::Open(dir_).error().remedy, Remedy::kGivePooling);
}

TEST_F(SentenceFolder, TakesNoPoolingAndNoLabelsFromOutside) {
  EXPECT_EQ(ModelFolder::Open(dir_, {.pooling = Pooling::kMean}).error().remedy,
            Remedy::kDropPooling);
  Put("labels.txt", "a\n");
  EXPECT_TRUE(FailedWith(ModelFolder::Open(dir_, {.labels = dir_ + "/labels.txt"}),
                         ErrorKind::kUsage, "no labels to be named"));
}

}  // namespace
}  // namespace sti
