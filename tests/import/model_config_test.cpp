#include "import/model_config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/safetensors_writer.h"
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
  std::string FailureWith(const std::string& key, const Json& value) {
    const auto info = ReadWith(key, value);
    EXPECT_FALSE(info.ok()) << key << " " << value.dump();
    if (info.ok()) return "";
    EXPECT_EQ(info.error().kind, ErrorKind::kData);
    EXPECT_EQ(info.error().message.find(path_), 0u);
    return info.error().message;
  }

  std::string path_;
  Json config_;
};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ModelConfig, ReadsEverything) {
  const auto info = Read(config_);
  ASSERT_TRUE(info.ok()) << info.error().message;
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
  EXPECT_EQ(ReadWith("hidden_act", "gelu_pytorch_tanh")->activation, Activation::kGeluTanh);
  EXPECT_TRUE(Contains(FailureWith("hidden_act", "silu"), "silu"));
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
  EXPECT_EQ(ReadWith("num_labels", 1)->labels, (std::vector<std::string>{"LABEL_0"}));
  FailureWith("num_labels", 0);
  EXPECT_TRUE(Contains(FailureWith("id2label", {{"0", "a"}, {"2", "b"}}), "label 1"));
  FailureWith("id2label", {{"0", 1}});
  FailureWith("id2label", Json::object());
  FailureWith("id2label", {"a"});
}

TEST_F(ModelConfig, RefusesOtherArchitectures) {
  for (const char* type : {"roberta", "distilbert", "gpt2", ""}) {
    EXPECT_TRUE(Contains(FailureWith("model_type", type), "only BERT")) << type;
  }
  FailureWith("model_type", nullptr);
  EXPECT_TRUE(Contains(FailureWith("architectures", {"BertForMaskedLM"}), "only BERT"));
  FailureWith("architectures", "BertForSequenceClassification");
  FailureWith("architectures", {1});
  FailureWith("is_decoder", true);
  EXPECT_TRUE(Contains(FailureWith("position_embedding_type", "relative_key"), "absolute"));
}

TEST_F(ModelConfig, RefusesSizesThatDoNotFit) {
  EXPECT_TRUE(Contains(FailureWith("hidden_size", 33), "no multiple"));
  EXPECT_TRUE(Contains(FailureWith("intermediate_size", 65), "no multiple"));
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
}

TEST_F(ModelConfig, RefusesWhatIsNoObject) {
  EXPECT_FALSE(Read(Json::array()).ok());
  ASSERT_TRUE(WriteBytes(path_, "{\"model_type\"").ok());
  EXPECT_EQ(ReadModelConfig(path_).error().kind, ErrorKind::kData);
  EXPECT_EQ(ReadModelConfig(path_ + ".none").error().kind, ErrorKind::kData);
}

}  // namespace
}  // namespace sti
