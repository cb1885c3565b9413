#include "import/model_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "network/families.h"
#include "support/safetensors_writer.h"
#include "support/text.h"
#include "support/tiny_model.h"

namespace sti {
namespace {

using Json = nlohmann::json;

class ModelConfig : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "config." + std::to_string(getpid()) + ".json";
    config_ = Json::parse(TinyConfig({}), nullptr, false);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<ModelInfo> Read(const Json& config) {
    EXPECT_TRUE(WriteBytes(path_, config.dump()).ok());
    return ReadModelConfig(path_);
  }
  Result<ModelInfo> ReadWith(const std::string& key, const Json& value) {
    Json config = config_;
    config[key] = value;
    return Read(config);
  }
  std::string FailureWith(const std::string& key, const Json& value,
                          ErrorKind kind = ErrorKind::kDamaged) {
    const auto info = ReadWith(key, value);
    EXPECT_FALSE(info.ok()) << key << " " << value.dump();
    if (info.ok()) return "";
    EXPECT_EQ(info.error().kind, kind) << info.error().Message();
    EXPECT_EQ(info.error().Message().find(path_), 0u);
    return info.error().Message();
  }

  // The file is sound, and the model is of a kind that is not run.
  std::string UnsupportedWith(const std::string& key, const Json& value) {
    return FailureWith(key, value, ErrorKind::kForeign);
  }

  std::string path_;
  Json config_;
};

TEST_F(ModelConfig, ReadsEverything) {
  const auto info = Read(config_);
  ASSERT_TRUE(info.ok()) << info.error().Message();
  EXPECT_EQ(info->shape.layers, 2u);
  EXPECT_EQ(info->shape.width, 2u);
  EXPECT_EQ(info->shape.hidden, 32u);
  EXPECT_EQ(info->shape.ffn, 64u);
  EXPECT_EQ(info->shape.max_positions, 32u);
  EXPECT_EQ(info->shape.token_types, 2u);
  EXPECT_EQ(info->labels, (std::vector<std::string>{"label_0", "label_1", "label_2"}));
  EXPECT_EQ(info->depth_layers, (std::vector<std::vector<uint32_t>>{{1}, {0, 1}}));
  EXPECT_TRUE(info->elastic);
  EXPECT_EQ(info->layer_norm_eps, 1e-12);
}

TEST_F(ModelConfig, ActivationsByName) {
  EXPECT_EQ(ReadWith("hidden_act", "relu")->activation, Activation::kRelu);
  EXPECT_EQ(ReadWith("hidden_act", "gelu_new")->activation, Activation::kGeluTanh);
  EXPECT_EQ(ReadWith("hidden_act", "gelu_fast")->activation, Activation::kGeluTanh);
  EXPECT_EQ(ReadWith("hidden_act", "gelu_python")->activation, Activation::kGelu);
  EXPECT_EQ(ReadWith("hidden_act", "gelu_pytorch_tanh")->activation, Activation::kGeluTanh);
  EXPECT_TRUE(Contains(UnsupportedWith("hidden_act", "silu"), "silu"));
}

TEST_F(ModelConfig, WithoutElasticEveryDepthIsAPrefix) {
  config_.erase("elastic");
  const auto info = Read(config_);
  ASSERT_TRUE(info.ok());
  EXPECT_FALSE(info->elastic);
  EXPECT_EQ(info->min_width, 1u);
  EXPECT_EQ(info->depth_layers, (std::vector<std::vector<uint32_t>>{{0}, {0, 1}}));
}

TEST_F(ModelConfig, LabelsByNumber) {
  config_.erase("id2label");
  EXPECT_EQ(Read(config_)->labels, (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
  EXPECT_EQ(ReadWith("num_labels", 3)->labels.back(), "LABEL_2");
  FailureWith("num_labels", 0);
  EXPECT_TRUE(Contains(FailureWith("id2label", {{"0", "a"}, {"2", "b"}}), "label 1"));
  FailureWith("id2label", {{"0", true}});
  // Ratings are called by numbers, which are names as others are.
  config_["id2label"] = {{"0", 0}, {"1", 1}, {"2", 2.5}};
  EXPECT_EQ(Read(config_)->labels, (std::vector<std::string>{"0", "1", "2.5"}));
  FailureWith("id2label", Json::object());
  FailureWith("id2label", {"a"});
}

// Labels that a reader would refuse are not written.
TEST_F(ModelConfig, RefusesLabelsThatAreNoAnswers) {
  EXPECT_TRUE(Contains(FailureWith("id2label", {{"0", "a"}, {"1", ""}}), "label 1 is empty"));
  EXPECT_TRUE(Contains(FailureWith("id2label", {{"0", "a\nb"}, {"1", "c"}}), "label 0 is not"));
  EXPECT_TRUE(Contains(FailureWith("id2label", {{"0", "a"}, {"1", "a"}}), "label 0 again"));
}

TEST_F(ModelConfig, RefusesOtherArchitectures) {
  for (const char* type : {"albert", "gptj", ""}) {
    EXPECT_TRUE(Contains(UnsupportedWith("model_type", type), "only models with model_type"))
        << type;
  }
  EXPECT_TRUE(Contains(UnsupportedWith("architectures", {"BertForMaskedLM"}),
                       "no classifier of texts or tokens, [\"BertForMaskedLM\"]"));
  FailureWith("architectures", "BertForSequenceClassification");
  FailureWith("architectures", {1});
  UnsupportedWith("is_decoder", true);
  EXPECT_TRUE(Contains(UnsupportedWith("position_embedding_type", "relative_key"), "absolute"));
}

TEST_F(ModelConfig, TheClassSaysWhatIsLabelled) {
  EXPECT_EQ(Read(config_)->head, HeadTraits());
  const auto tokens = ReadWith("architectures", {"BertForTokenClassification"});
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ(tokens->head, HeadTraits::OfTokenLabels());
  EXPECT_EQ(tokens->pooler, PoolerActivation::kNone);
  EXPECT_FALSE(tokens->shape.has_pooler);
  EXPECT_EQ(tokens->labels, Read(config_)->labels);
  // The first class that is known counts.
  const Json both = {"BertModel", "BertForSequenceClassification", "BertForTokenClassification"};
  EXPECT_EQ(ReadWith("architectures", both)->head, HeadTraits());
  const auto again = ModelConfigText(*tokens);
  EXPECT_NE(again.find("BertForTokenClassification"), std::string::npos);
}

// Published DynaBERT checkpoints name neither type nor architecture.
TEST_F(ModelConfig, BertIsKnownByItsKeys) {
  config_.erase("model_type");
  config_["width_mult"] = "0.25";
  EXPECT_EQ(Read(config_)->architecture, Architecture::kBert);
  config_.erase("architectures");
  EXPECT_EQ(Read(config_)->architecture, Architecture::kBert);
  EXPECT_EQ(ReadWith("model_type", nullptr)->architecture, Architecture::kBert);
  UnsupportedWith("architectures", {"RobertaForSequenceClassification"});
  UnsupportedWith("hidden_size", nullptr);
}

Json DistilBertConfig() {
  return {{"model_type", "distilbert"},
          {"n_layers", 2},
          {"n_heads", 2},
          {"dim", 32},
          {"hidden_dim", 64},
          {"activation", "relu"},
          {"vocab_size", 100},
          {"num_labels", 3},
          {"max_position_embeddings", 16},
          {"sinusoidal_pos_embds", true}};
}

TEST_F(ModelConfig, ReadsDistilBert) {
  config_ = DistilBertConfig();
  const auto info = Read(config_);
  ASSERT_TRUE(info.ok()) << info.error().Message();
  EXPECT_EQ(info->architecture, Architecture::kDistilBert);
  EXPECT_EQ(info->layer_norm_eps, 1e-12) << "its configurations do not say";
  EXPECT_EQ(ReadWith("layer_norm_eps", 1e-5)->layer_norm_eps, 1e-12) << "transformers has no other";
  EXPECT_EQ(info->pooler, PoolerActivation::kRelu);
  EXPECT_EQ(info->activation, Activation::kRelu);
  EXPECT_EQ(info->shape.token_types, 1u);
  EXPECT_EQ(info->shape.ffn, 64u);
  EXPECT_EQ(info->max_length(), 16u);
  EXPECT_TRUE(Contains(UnsupportedWith("n_heads", 3), "dim 32 is no multiple of n_heads 3"));
  EXPECT_TRUE(
      Contains(UnsupportedWith("hidden_dim", 65), "hidden_dim 65 is no multiple of n_heads 2"));
}

TEST_F(ModelConfig, ReadsRoberta) {
  config_["model_type"] = "roberta";
  config_.erase("pad_token_id");
  config_["type_vocab_size"] = 1;
  const auto info = Read(config_);
  ASSERT_TRUE(info.ok()) << info.error().Message();
  EXPECT_EQ(info->architecture, Architecture::kRoberta);
  EXPECT_EQ(info->pooler, PoolerActivation::kTanh);
  EXPECT_EQ(info->tokenizer.pad_id, 1u);
  EXPECT_EQ(info->position_offset, 2u);
  EXPECT_EQ(info->max_length(), 30u);
  EXPECT_EQ(ReadWith("pad_token_id", 4)->position_offset, 5u);
  EXPECT_TRUE(Contains(FailureWith("pad_token_id", 30), "no room"));
  EXPECT_TRUE(Contains(FailureWith("pad_token_id", 40), "no room"));
}

TEST_F(ModelConfig, ProblemTypeDecidesWhatLogitsMean) {
  EXPECT_EQ(Read(config_)->problem, Problem::kSingleLabel);
  EXPECT_EQ(ReadWith("problem_type", "single_label_classification")->problem,
            Problem::kSingleLabel);
  EXPECT_EQ(ReadWith("problem_type", "multi_label_classification")->problem, Problem::kMultiLabel);
  EXPECT_TRUE(Contains(UnsupportedWith("problem_type", "regression"), "only classifiers"));
  UnsupportedWith("problem_type", "ranking");
}

// Cross-encoders say nothing of their problem, and a softmax of one logit would always be 1.
TEST_F(ModelConfig, OneLogitIsALabelThatAppliesOrNot) {
  for (const char* problem : {"", "single_label_classification", "multi_label_classification"}) {
    config_["problem_type"] = problem;
    const auto info = ReadWith("id2label", {{"0", "LABEL_0"}});
    ASSERT_TRUE(info.ok()) << info.error().Message();
    EXPECT_EQ(info->problem, Problem::kMultiLabel);
    EXPECT_EQ(info->labels, std::vector<std::string>{"LABEL_0"});
  }
  config_["id2label"] = {{"0", "LABEL_0"}};
  EXPECT_TRUE(Contains(UnsupportedWith("problem_type", "regression"), "only classifiers"));
}

TEST_F(ModelConfig, RefusesSizesThatDoNotFit) {
  EXPECT_TRUE(Contains(UnsupportedWith("hidden_size", 33), "no multiple"));
  EXPECT_TRUE(Contains(UnsupportedWith("intermediate_size", 65), "no multiple"));
  FailureWith("pad_token_id", TinyVocabulary().size());
  FailureWith("layer_norm_eps", 0);
  FailureWith("layer_norm_eps", "1e-12");
}

TEST_F(ModelConfig, RefusesHostileSizes) {
  const std::pair<const char*, uint64_t> limits[] = {
      {"num_hidden_layers", 1024}, {"num_attention_heads", 256},
      {"hidden_size", 16384},      {"intermediate_size", 65536},
      {"vocab_size", 1 << 22},     {"max_position_embeddings", 65536},
      {"type_vocab_size", 65536}};
  for (const auto& [key, limit] : limits) {
    EXPECT_TRUE(Contains(FailureWith(key, limit + 1), key));
    FailureWith(key, 0);
    FailureWith(key, -1);
    FailureWith(key, 1.5);
    FailureWith(key, "12");
    FailureWith(key, UINT64_MAX);
  }
  FailureWith("num_hidden_layers", nullptr);
}

TEST_F(ModelConfig, RefusesBrokenDepths) {
  const std::vector<Json> broken = {
      Json::array(),
      {{1}},
      {{1}, {0, 1}, {0, 1, 2}},
      {{2}, {0, 1}},
      {{1}, {1, 0}},
      {{1}, {1, 1}},
      {{1}, {0}},
      {Json::array({-1}), {0, 1}},
      {Json::array({"1"}), {0, 1}},
      3,
  };
  for (const Json& rows : broken) {
    EXPECT_TRUE(Contains(FailureWith("elastic", {{"depth_layers", rows}}), "elastic.depth_layers"));
  }
  FailureWith("elastic", Json::object());
  FailureWith("elastic", 1);
  const Json rows = Json::array({Json::array({0}), Json::array({0, 1})});
  EXPECT_TRUE(ReadWith("elastic", {{"depth_layers", rows}}).ok());
  EXPECT_EQ(ReadWith("elastic", {{"depth_layers", rows}, {"min_width", 2}})->min_width, 2u);
  FailureWith("elastic", {{"depth_layers", rows}, {"min_width", 0}});
  FailureWith("elastic", {{"depth_layers", rows}, {"min_width", 3}});
  EXPECT_EQ(ReadWith("elastic", {{"depth_layers", rows}, {"min_depth", 2}})->min_depth, 2u);
  EXPECT_EQ(ReadWith("elastic", {{"depth_layers", rows}, {"min_depth", 2}, {"trained", false}})
                ->min_depth,
            1u);
  EXPECT_TRUE(Contains(FailureWith("elastic", {{"depth_layers", rows}, {"min_depth", 3}}),
                       "elastic.min_depth is not a whole number from 1 to 2"));
  FailureWith("elastic", {{"depth_layers", rows}, {"min_depth", -1}});
}

TEST_F(ModelConfig, RefusesWhatIsNoObject) {
  EXPECT_FALSE(Read(Json::array()).ok());
  ASSERT_TRUE(WriteBytes(path_, "{\"model_type\"").ok());
  EXPECT_EQ(ReadModelConfig(path_).error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(ReadModelConfig(path_ + ".none").error().kind, ErrorKind::kNoSuchFile);
}

}  // namespace
}  // namespace sti
