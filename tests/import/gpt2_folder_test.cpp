// Folders of GPT-2: matrices that lie on their sides, three of them in one, and a head that is the
// word embeddings again.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "import/model_folder.h"
#include "import/weight_file.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

using enum TensorRole;
using Json = nlohmann::json;

const std::string kSource = STI_SOURCE_DIR "/tests/data/gpt2-tiny";

class Gpt2Folder : public testing::Test {
 protected:
  void SetUp() override { SetUpAnew(); }
  void SetUpAnew() {
    std::filesystem::remove_all(folder_.File("model"));
    std::filesystem::copy(kSource, folder_.File("model"), std::filesystem::copy_options::recursive);
    std::filesystem::permissions(folder_.File("model/model.safetensors"),
                                 std::filesystem::perms::owner_all);
  }

  Result<ModelFolder> Open() { return ModelFolder::Open(folder_.File("model")); }

  void Set(const std::string& file, const std::string& key, const Json& value) {
    const std::string path = folder_.File("model/" + file);
    std::ifstream in(path);
    Json json = Json::parse(in);
    json[key] = value;
    ASSERT_TRUE(WriteBytes(path, json.dump()).ok());
  }

  // Adds a tensor to those of the file.
  void AddTensor(const TensorToWrite& tensor) {
    const std::string path = folder_.File("model/model.safetensors");
    std::vector<TensorToWrite> all{tensor};
    {
      const auto file = WeightFile::OpenSafetensors(path);
      ASSERT_TRUE(Succeeded(file));
      for (const std::string& name : file->Names()) {
        const TensorView view = *file->Find(name);
        all.push_back({name, "F16", view.shape, {view.bytes.begin(), view.bytes.end()}});
      }
    }
    ASSERT_TRUE(WriteSafetensors(path, all).ok());
  }

  TempFolder folder_;
};

TEST_F(Gpt2Folder, MatricesAreTurnedAndTakenApart) {
  const auto folder = Open();
  ASSERT_TRUE(Succeeded(folder));
  const auto file = WeightFile::OpenSafetensors(kSource + "/model.safetensors");
  ASSERT_TRUE(Succeeded(file));
  const std::string layer = "transformer.h.1.";
  const TensorView fused = *file->Find(layer + "attn.c_attn.weight");
  const TensorView biases = *file->Find(layer + "attn.c_attn.bias");
  const TensorView down = *file->Find(layer + "mlp.c_proj.weight");
  ASSERT_EQ(fused.shape, (std::vector<uint64_t>{16, 48}));
  const TensorRole weights[] = {kQueryWeight, kKeyWeight, kValueWeight};
  const TensorRole their_biases[] = {kQueryBias, kKeyBias, kValueBias};
  for (size_t part = 0; part < 3; ++part) {
    const TensorView weight = folder->Tensor(weights[part], 1);
    EXPECT_EQ(weight.shape, (std::vector<uint64_t>{16, 16}));
    for (size_t out = 0; out < 16; ++out) {
      for (size_t in = 0; in < 16; ++in)
        ASSERT_EQ(LoadElement(weight, out * 16 + in),
                  LoadElement(fused, in * 48 + part * 16 + out));
    }
    const TensorView bias = folder->Tensor(their_biases[part], 1);
    ASSERT_EQ(bias.shape, (std::vector<uint64_t>{16}));
    for (size_t out = 0; out < 16; ++out)
      ASSERT_EQ(LoadElement(bias, out), LoadElement(biases, part * 16 + out));
  }
  const TensorView turned = folder->Tensor(kFfn2Weight, 1);
  EXPECT_EQ(turned.shape, (std::vector<uint64_t>{16, 64}));
  for (size_t out = 0; out < 16; ++out) {
    for (size_t in = 0; in < 64; ++in)
      ASSERT_EQ(LoadElement(turned, out * 64 + in), LoadElement(down, in * 16 + out));
  }
}

TEST_F(Gpt2Folder, SaysWhatTheModelIs) {
  const auto folder = Open();
  ASSERT_TRUE(Succeeded(folder));
  const ModelInfo& info = folder->info();
  EXPECT_EQ(info.head, HeadTraits::OfNextToken());
  EXPECT_TRUE(info.shape.causal && info.shape.norm_before && !info.shape.has_pooler);
  EXPECT_EQ(info.shape.ffn, 64U) << "n_inner is null";
  EXPECT_EQ(info.shape.token_types, 0U);
  EXPECT_EQ(info.shape.labels, 0U);
  EXPECT_EQ(info.min_length(), 1U);
  EXPECT_EQ(info.max_length(), 96U);
  EXPECT_EQ(info.head_values(), 331U);
  EXPECT_EQ(info.tokenizer.sep_id, 330U);
  EXPECT_EQ(info.activation, Activation::kGeluTanh);
  EXPECT_EQ(info.tokenizer.control_tokens(false), 0U);
}

TEST_F(Gpt2Folder, AHeadOfItsOwnIsRefused) {
  const auto file = WeightFile::OpenSafetensors(kSource + "/model.safetensors");
  const TensorView words = *file->Find("transformer.wte.weight");
  TensorToWrite head{
      "lm_head.weight", "F16", words.shape, {words.bytes.begin(), words.bytes.end()}};
  AddTensor(head);
  EXPECT_TRUE(Succeeded(Open()));
  head.bytes[7] ^= 1;
  SetUpAnew();
  AddTensor(head);
  EXPECT_TRUE(FailedWith(Open(), ErrorKind::kForeign, "lm_head.weight: other values"));
}

TEST_F(Gpt2Folder, MasksOfOldFilesArePassedOver) {
  AddTensor({"transformer.h.0.attn.bias", "U8", {1, 1, 4, 4}, std::vector<uint8_t>(16)});
  EXPECT_TRUE(Succeeded(Open()));
}

TEST_F(Gpt2Folder, OtherAttentionOrHeadsAreRefused) {
  const std::tuple<const char*, Json, const char*> all[] = {
      {"scale_attn_weights", false, "scale_attn_weights is false; only true is supported"},
      {"scale_attn_by_inverse_layer_idx", true, "only false is supported"},
      {"add_cross_attention", true, "add_cross_attention is true"},
      {"architectures", {"GPT2ForSequenceClassification"}, "name no model that continues texts"},
      {"activation_function", "swish", "activation_function is \"swish\""},
      {"n_head", 3, "n_embd 16 is no multiple of n_head 3"}};
  for (const auto& [key, value, said] : all) {
    SetUpAnew();
    Set("config.json", key, value);
    EXPECT_TRUE(FailedWith(Open(), ErrorKind::kForeign, said)) << key;
  }
  SetUpAnew();
  Set("config.json", "eos_token_id", 331);
  EXPECT_TRUE(FailedWith(Open(), ErrorKind::kDamaged, "eos_token_id"));
  SetUpAnew();
  Set("config.json", "eos_token_id", nullptr);
  EXPECT_TRUE(FailedWith(Open(), ErrorKind::kDamaged, "no eos_token_id, and no token 50256"));
  SetUpAnew();
  Set("config.json", "n_inner", 48);
  EXPECT_TRUE(FailedWith(Open(), ErrorKind::kDamaged, "shape [16, 64], expected [16, 48]"));
}

// Texts stand between no control tokens, so a tokenizer that adds some is another.
TEST_F(Gpt2Folder, TokenizersOfAnotherKindAreRefused) {
  Set("tokenizer_config.json", "tokenizer_class", "RobertaTokenizer");
  EXPECT_TRUE(FailedWith(Open(), ErrorKind::kForeign, "only GPT2Tokenizer is supported"));
  for (const char* key : {"add_bos_token", "add_eos_token"}) {
    SetUpAnew();
    Set("tokenizer_config.json", key, true);
    EXPECT_TRUE(FailedWith(Open(), ErrorKind::kForeign, std::string(key) + " is true"));
  }
  const auto roberta =
      ModelFolder::Open(STI_SOURCE_DIR "/tests/data/roberta-tiny", {.tokenizer = kSource});
  EXPECT_TRUE(FailedWith(roberta, ErrorKind::kForeign, "only RobertaTokenizer is supported"));
}

}  // namespace
}  // namespace sti
