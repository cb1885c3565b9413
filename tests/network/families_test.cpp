#include "network/families.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace sti {
namespace {

using enum TensorRole;

TEST(Families, EachHasANumberATypeAndAClassOfItsOwn) {
  std::set<uint8_t> numbers;
  std::set<std::string_view> types;
  std::set<std::string_view> classes;
  for (const Family* family : Families()) {
    const auto number = static_cast<uint8_t>(family->architecture);
    EXPECT_EQ(FindFamily(number), family);
    EXPECT_EQ(FindFamily(family->model_type), family);
    numbers.insert(number);
    types.insert(family->model_type);
    classes.insert(family->class_prefix);
  }
  EXPECT_EQ(numbers.size(), Families().size());
  EXPECT_EQ(types.size(), Families().size());
  EXPECT_EQ(classes.size(), Families().size());
  EXPECT_EQ(FindFamily(uint8_t{255}), nullptr);
  EXPECT_EQ(FindFamily("gptj"), nullptr);
}

// A tensor without a name is one that models of the family do not have.
TEST(Families, EachNamesAllTensorsThatItsModelsHave) {
  for (const Family* family : Families()) {
    ModelShape shape = {.vocabulary = 1, .max_positions = 2, .token_types = 1, .labels = 1};
    if (!family->has_types) shape.token_types = 0;
    if (family->keys.embedding != nullptr) shape.embedding = 1;
    if (family->input == FamilyInput::kImages) shape.image = ImageShape{1, 1, 1};
    shape.norm_before = family->norm_before;
    if (family->causal) shape.labels = 0;
    shape.has_pooler = family->pooler != PoolerActivation::kNone;
    std::set<std::string> names;
    for (const TensorSpec& tensor : kTensors) {
      const std::string name = NameOf(tensor.role, 1, *family);
      const bool lacks = !HasTensor(tensor, shape);
      EXPECT_EQ(name.empty(), lacks) << family->model_type << ": " << name;
      if (lacks || PlaceOf(tensor.role, *family).part > 0) continue;
      EXPECT_TRUE(names.insert(name).second) << "two tensors are called " << name;
    }
  }
}

TEST(Families, NamesAreThoseOfPublishedFiles) {
  const Family& bert = *FindFamily("bert");
  EXPECT_EQ(NameOf(kQueryWeight, 3, bert), "bert.encoder.layer.3.attention.self.query.weight");
  EXPECT_EQ(NameOf(kPoolerBias, 0, bert), "bert.pooler.dense.bias");
  EXPECT_EQ(NameOf(kClassifierWeight, 0, bert), "classifier.weight");
  const Family& distilbert = *FindFamily("distilbert");
  EXPECT_EQ(NameOf(kOutputWeight, 3, distilbert),
            "distilbert.transformer.layer.3.attention.out_lin.weight");
  EXPECT_EQ(NameOf(kOutputNormBias, 0, distilbert),
            "distilbert.transformer.layer.0.output_layer_norm.bias");
  EXPECT_EQ(NameOf(kPoolerWeight, 0, distilbert), "pre_classifier.weight");
  EXPECT_EQ(NameOf(kTypeEmbeddings, 0, distilbert), "");
  const Family& roberta = *FindFamily("roberta");
  EXPECT_EQ(NameOf(kFfn1Weight, 2, roberta), "roberta.encoder.layer.2.intermediate.dense.weight");
  EXPECT_EQ(NameOf(kClassifierBias, 0, roberta), "classifier.out_proj.bias");
  const Family& vit = *FindFamily("vit");
  EXPECT_EQ(NameOf(kQueryWeight, 0, vit), "vit.encoder.layer.0.attention.attention.query.weight");
  EXPECT_EQ(NameOf(kClassToken, 0, vit), "vit.embeddings.cls_token");
  EXPECT_EQ(NameOf(kFinalNormBias, 0, vit), "vit.layernorm.bias");
  EXPECT_EQ(ClassOf(vit, HeadOutput::kLabels), "ViTForImageClassification");
}

TEST(Families, Gpt2HasQueriesKeysAndValuesInOneOnTheirSides) {
  const Family& gpt2 = *FindFamily("gpt2");
  EXPECT_EQ(ClassOf(gpt2, HeadOutput::kNextToken), "GPT2LMHeadModel");
  EXPECT_EQ(NameOf(kFinalNormWeight, 0, gpt2), "transformer.ln_f.weight");
  const ModelShape shape{.layers = 1, .width = 2, .hidden = 4, .ffn = 6, .norm_before = true};
  for (const auto& [role, part] :
       {std::pair(kQueryWeight, 0U), {kKeyWeight, 1}, {kValueWeight, 2}}) {
    EXPECT_EQ(NameOf(role, 3, gpt2), "transformer.h.3.attn.c_attn.weight");
    EXPECT_EQ(StoredShapeOf(SpecOf(role), shape, gpt2), (std::vector<uint64_t>{4, 12}));
    EXPECT_EQ(PlaceOf(role, gpt2).part, part);
    EXPECT_TRUE(PlaceOf(role, gpt2).transposed);
  }
  EXPECT_EQ(StoredShapeOf(SpecOf(kValueBias), shape, gpt2), (std::vector<uint64_t>{12}));
  EXPECT_EQ(PlaceOf(kValueBias, gpt2).part, 2U);
  EXPECT_EQ(StoredShapeOf(SpecOf(kFfn1Weight), shape, gpt2), (std::vector<uint64_t>{4, 6}));
  EXPECT_EQ(StoredShapeOf(SpecOf(kOutputBias), shape, gpt2), (std::vector<uint64_t>{4}));
  EXPECT_EQ(StoredShapeOf(SpecOf(kWordEmbeddings), shape, gpt2),
            ShapeOf(SpecOf(kWordEmbeddings), shape));
  EXPECT_EQ(StoredShapeOf(SpecOf(kFfn1Weight), shape, *FindFamily("bert")),
            (std::vector<uint64_t>{6, 4}));
}

TEST(Families, AllNameTheClassifierOfTokensAlike) {
  for (const Family* family : Families()) {
    if (family->input != FamilyInput::kTexts || family->causal) continue;
    EXPECT_EQ(NameOf(kClassifierWeight, 0, *family, HeadOutput::kTokenLabels), "classifier.weight");
    EXPECT_EQ(NameOf(kClassifierBias, 0, *family, HeadOutput::kTokenLabels), "classifier.bias");
    EXPECT_EQ(NameOf(kQueryBias, 1, *family, HeadOutput::kTokenLabels),
              NameOf(kQueryBias, 1, *family));
  }
  const Family& electra = *FindFamily("electra");
  EXPECT_EQ(ClassOf(electra, HeadOutput::kLabels), "ElectraForSequenceClassification");
  EXPECT_EQ(ClassOf(electra, HeadOutput::kTokenLabels), "ElectraForTokenClassification");
  EXPECT_EQ(ClassOf(electra, HeadOutput::kEmbedding), "ElectraModel");
}

TEST(Families, ElectraHasARobertasHeadAndAProjection) {
  const Family& electra = *FindFamily("electra");
  EXPECT_EQ(NameOf(kProjectionWeight, 0, electra), "electra.embeddings_project.weight");
  EXPECT_EQ(NameOf(kKeyBias, 1, electra), "electra.encoder.layer.1.attention.self.key.bias");
  EXPECT_EQ(NameOf(kClassifierWeight, 0, electra), "classifier.out_proj.weight");
  EXPECT_EQ(
      NamesOf(kProjectionBias, 0, electra),
      (std::vector<std::string>{"electra.embeddings_project.bias", "embeddings_project.bias"}));
}

TEST(Families, OldFilesHaveOtherNamesOfNorms) {
  EXPECT_EQ(NamesOf(kEmbeddingNormWeight, 0, *FindFamily("bert")),
            (std::vector<std::string>{
                "bert.embeddings.LayerNorm.weight", "bert.embeddings.LayerNorm.gamma",
                "embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma"}));
}

TEST(Families, AModelLacksASecondTypeOnlyWhereItsFamilyHasOne) {
  ModelInfo info;
  info.tokenizer.second_type = 0;
  info.architecture = FindFamily("bert")->architecture;
  EXPECT_TRUE(LacksSecondType(info));
  info.architecture = FindFamily("roberta")->architecture;
  EXPECT_FALSE(LacksSecondType(info));
  info.architecture = FindFamily("bert")->architecture;
  info.tokenizer.second_type = 1;
  EXPECT_FALSE(LacksSecondType(info));
}

}  // namespace
}  // namespace sti
