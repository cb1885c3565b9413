// Files of released versions load for ever, with the results they had (tests/data/v1/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/utf8.h"
#include "format/plan_file.h"
#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

// A frozen container, without its extension, and the JSON beside it that says what it must give.
class FrozenFile : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = std::string(STI_SOURCE_DIR) + "/tests/data/" + GetParam() + ".sti";
    const auto text = FileBytes(path_.substr(0, path_.size() - 3) + "json");
    expected_ = nlohmann::json::parse(text.begin(), text.end());
  }
  static std::string DigestOf(std::span<const uint8_t> bytes) {
    Digester digester;
    digester.Add(bytes);
    return digester.Finish().Hex();
  }
  // Runs the input that the JSON has: the ids of a text, or the values of an image.
  Result<std::vector<float>> Run(const std::string& path, uint32_t bits) {
    STI_ASSIGN_OR_RETURN(ContainerFile file, ContainerFile::Open(path));
    WholePlanOptions options;
    options.bits = bits;
    STI_ASSIGN_OR_RETURN(Plan plan, MakeWholePlan(file.index(), options));
    STI_ASSIGN_OR_RETURN(auto pipeline, Pipeline::Create(std::move(file), plan, {}));
    if (expected_.contains("image")) {
      const std::vector<float> image = expected_.at("image");
      PassOutput output;
      RunReport report;
      STI_RETURN_IF_ERROR(pipeline->Run({ImageInput{image}, {}}, {}, &output, &report));
      return output.values;
    }
    STI_ASSIGN_OR_RETURN(RunResult result,
                         RunTokens(*pipeline, expected_.at("ids").get<std::vector<uint32_t>>(),
                                   expected_.at("types").get<std::vector<uint32_t>>()));
    return result.values;
  }

  std::string path_;
  nlohmann::json expected_;
};

TEST_P(FrozenFile, IsTheFileThatWasFrozen) {
  EXPECT_EQ(DigestOf(FileBytes(path_)), expected_.at("file_digest").get<std::string>());
}

// The facts that later versions digest besides are left out where they say what 1.0 meant.
TEST(FrozenV1, TheModelItWasMadeFromKeepsItsDigest) {
  TinyModelOptions options;
  options.hidden = 16;
  options.ffn = 32;
  options.seed = 20240101;
  const TempFolder folder;
  ASSERT_TRUE(Succeeded(WriteTinyModel(folder.path(), options)));
  const auto model = ModelFolder::Open(folder.path());
  ASSERT_TRUE(Succeeded(model));
  EXPECT_EQ(ModelDigest(*model, CodebookKind::kTree).Hex(), "2fecad717bb2bd7c17d964d43bc9a5d3");
}

TEST_P(FrozenFile, OpensAsTheModelItWas) {
  const auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const ContainerIndex& index = file->index();
  EXPECT_EQ(index.model.Hex(), expected_.at("model").get<std::string>());
  EXPECT_EQ(ShapeDigest(index.info).Hex(), expected_.at("shape").get<std::string>());
  EXPECT_EQ(index.bits, (std::vector<uint32_t>{2, 3, 4, 5, 6, 32}));
  EXPECT_EQ(index.info.data_type, DataType::kF16);
}

TEST(FrozenV1, HoldsWhat1_0Had) {
  const auto file = ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1/tiny.sti");
  ASSERT_TRUE(Succeeded(file));
  const ContainerIndex& index = file->index();
  EXPECT_EQ(index.codebook, CodebookKind::kTree);
  EXPECT_EQ(index.layout, Layout::kShard);
  EXPECT_EQ(index.info.labels, (std::vector<std::string>{"label_0", "label_1", "label_2"}));
  EXPECT_TRUE(index.info.elastic);
}

TEST(FrozenV1_1, HoldsWhat1_1Added) {
  const std::string folder = std::string(STI_SOURCE_DIR) + "/tests/data/v1.1/";
  const auto roberta = ContainerFile::Open(folder + "roberta.sti");
  ASSERT_TRUE(Succeeded(roberta));
  EXPECT_EQ(roberta->index().codebook, CodebookKind::kScaledTree);
  EXPECT_EQ(roberta->index().layout, Layout::kPlane);
  EXPECT_EQ(roberta->index().words.coding, RowCoding::kEightBit);
  EXPECT_EQ(roberta->index().info.architecture, Architecture::kRoberta);
  EXPECT_EQ(roberta->index().info.tokenizer.kind, TokenizerKind::kByteBpe);
  EXPECT_EQ(roberta->index().info.position_offset, 2U);
  const auto several = ContainerFile::Open(folder + "multilabel.sti");
  ASSERT_TRUE(Succeeded(several));
  EXPECT_EQ(several->index().info.problem, Problem::kMultiLabel);
}

TEST(FrozenV1_2, HoldsWhat1_2Added) {
  const auto file =
      ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.2/shallow.sti");
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(file->index().info.min_depth, 2U);
  EXPECT_TRUE(file->index().info.elastic);
}

// Its first and last tokens have the padding token's id, and so no position of their own.
TEST(FrozenV1_3, HoldsWhat1_3Added) {
  const auto file = ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.3/cut.sti");
  ASSERT_TRUE(Succeeded(file));
  const ModelInfo& info = file->index().info;
  EXPECT_TRUE(info.tokenizer.cuts_begin);
  EXPECT_EQ(info.tokenizer.max_length, 12U);
  EXPECT_EQ(info.max_length(), 12U);
  EXPECT_EQ(info.tokenizer.sep_id, info.position_offset - 1);
}

TEST(FrozenV1_4, HoldsWhat1_4Added) {
  const auto file =
      ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.4/electra.sti");
  ASSERT_TRUE(Succeeded(file));
  const ModelInfo& info = file->index().info;
  EXPECT_EQ(info.architecture, Architecture::kElectra);
  EXPECT_EQ(info.pooler, PoolerActivation::kGelu);
  EXPECT_EQ(info.shape.embedding, 8U);
  EXPECT_EQ(file->index().words.columns, 8U);
}

TEST(FrozenV1_5, HoldsWhat1_5Added) {
  const auto file =
      ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.5/sentences.sti");
  ASSERT_TRUE(Succeeded(file));
  const ModelInfo& info = file->index().info;
  EXPECT_EQ(info.head, (HeadTraits{HeadOutput::kEmbedding, Pooling::kMean, true}));
  EXPECT_EQ(info.shape.labels, 0U);
  EXPECT_FALSE(info.shape.has_pooler);
  EXPECT_EQ(info.max_length(), 12U);
}

TEST(FrozenV1_6, HoldsWhat1_6Added) {
  const auto file =
      ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.6/tokens.sti");
  ASSERT_TRUE(Succeeded(file));
  const ModelInfo& info = file->index().info;
  EXPECT_EQ(info.head, HeadTraits::OfTokenLabels());
  EXPECT_EQ(info.shape.labels, 7U);
  EXPECT_EQ(info.labels[1], "B-PER");
  EXPECT_FALSE(info.shape.has_pooler);
}

TEST(FrozenV1_8, HoldsAModelOfImages) {
  const auto file = ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.8/vit.sti");
  ASSERT_TRUE(Succeeded(file));
  const ModelInfo& info = file->index().info;
  EXPECT_EQ(info.architecture, Architecture::kVit);
  EXPECT_EQ(info.shape.image, (ImageShape{.size = 12, .patch = 4, .channels = 3}));
  EXPECT_EQ(info.pixels, (PixelScale{{0.5F, 0.4F, 0.3F}, {0.5F, 0.25F, 0.2F}}));
  EXPECT_TRUE(info.shape.norm_before);
  EXPECT_FALSE(info.shape.has_pooler || info.has_text());
}

TEST(FrozenV1_9, HoldsAModelThatContinuesTexts) {
  auto file = ContainerFile::Open(std::string(STI_SOURCE_DIR) + "/tests/data/v1.9/gpt2.sti");
  ASSERT_TRUE(Succeeded(file));
  const ModelInfo& info = file->index().info;
  EXPECT_EQ(info.architecture, Architecture::kGpt2);
  EXPECT_TRUE(info.shape.causal && info.shape.norm_before);
  EXPECT_EQ(info.head, HeadTraits::OfNextToken());
  EXPECT_EQ(info.shape.token_types, 0U);
  EXPECT_FALSE(info.tokenizer.has_frame || info.shape.has_pooler);
  EXPECT_FALSE(HasEmbeddingPart(info));
  EXPECT_EQ(file->index().Resident(ResidentKind::kLayer, 1).layer, 1U);
  EXPECT_TRUE(FailedWith(file->RefuseContinuing(), ErrorKind::kForeign, "continues texts"));
}

// The last stage of the model of v1.1/roberta.sti: its second layer and its head.
TEST(FrozenV1_7, AStageGivesWhatTheWholeModelGives) {
  const std::string data = std::string(STI_SOURCE_DIR) + "/tests/data/";
  auto stage = ContainerFile::Open(data + "v1.7/stage.sti");
  auto whole = ContainerFile::Open(data + "v1.1/roberta.sti");
  ASSERT_TRUE(Succeeded(stage) && Succeeded(whole));
  ASSERT_TRUE(stage->index().stage);
  EXPECT_EQ(*stage->index().stage, (StageExtent{1, 2, {.text = false, .head = true}}));
  EXPECT_EQ(stage->index().model, whole->index().model);
  EXPECT_TRUE(FailedWith(stage->ReadText(ResidentKind::kVocabulary), ErrorKind::kForeign,
                         "without its tokenizer"));
  const auto content = ReadWholeFile(data + "v1.9/stages.plan", 1 << 20);
  ASSERT_TRUE(Succeeded(content));
  const auto plan = ParsePlan(AsBytes(*content), "stages.plan");
  ASSERT_TRUE(Succeeded(plan));
  Plan own = CutStage(*plan, 1);
  own.kernel = {};
  std::vector<float> rows(4 * 16);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 7) * 0.25F - 0.75F;
  std::vector<std::vector<float>> logits;
  for (auto* file : {&*stage, &*whole}) {
    auto pipeline = Pipeline::Create(std::move(*file), own, {});
    ASSERT_TRUE(Succeeded(pipeline));
    PassOutput output;
    RunReport report;
    ASSERT_TRUE(Succeeded((*pipeline)->Run({HiddenInput{rows}, {}}, {}, &output, &report)));
    logits.push_back(output.values);
  }
  EXPECT_EQ(logits[0].size(), 4U);
  EXPECT_EQ(logits[0], logits[1]);
}

TEST_P(FrozenFile, EveryPartHashesToItsChecksum) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const ContainerIndex& index = file->index();
  for (const ShardLocation& shard : index.shards) {
    for (const PartLocation& part : shard.parts) {
      EXPECT_TRUE(Succeeded(file->ReadPart(part, "a shard part")));
    }
  }
  for (const ResidentLocation& resident : index.resident) {
    if (IsText(resident.kind)) continue;
    EXPECT_TRUE(Succeeded(file->VisitTensors(
        resident.kind, resident.layer,
        [](TensorRole, uint64_t, std::span<const uint8_t>) { return Status(); })));
  }
  if (!index.info.has_text()) return;
  const auto vocabulary = file->ReadText(ResidentKind::kVocabulary);
  ASSERT_TRUE(Succeeded(vocabulary));
  EXPECT_EQ(DigestOf(AsBytes(*vocabulary)), expected_.at("vocabulary_digest").get<std::string>());
}

TEST_P(FrozenFile, GivesTheFrozenLogits) {
  const auto& logits = expected_.at("logits");
  ASSERT_EQ(logits.size(), 6U);
  for (const auto& [bits, frozen] : logits.items()) {
    const auto result = Run(path_, static_cast<uint32_t>(std::stoul(bits)));
    ASSERT_TRUE(Succeeded(result));
    ASSERT_EQ(result->size(), frozen.size());
    for (size_t i = 0; i < frozen.size(); ++i) {
      EXPECT_NEAR((*result)[i], frozen[i].get<double>(), 1e-4) << bits << " bits";
    }
  }
}

// Each damaged byte ends in an error or, where no run reads it, in the same logits.
TEST_P(FrozenFile, NoFlippedByteBecomesAnotherLabel) {
  const TempFolder folder;
  const std::string path = folder.File("tiny.sti");
  std::filesystem::copy_file(path_, path);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const auto whole = Run(path, 6);
  ASSERT_TRUE(Succeeded(whole));
  size_t refused = 0;
  for (uint64_t at = 0; at < std::filesystem::file_size(path); at += 61) {
    ASSERT_TRUE(DamageByte(path, at, 0x08).ok());
    const auto result = Run(path, 6);
    if (result.ok()) {
      EXPECT_EQ(*result, *whole) << "byte " << at;
    } else {
      EXPECT_TRUE(Refused(result, path)) << "byte " << at;
      ++refused;
    }
    ASSERT_TRUE(DamageByte(path, at, 0x08).ok());
  }
  EXPECT_GT(refused, 100U);
}

INSTANTIATE_TEST_SUITE_P(Versions, FrozenFile,
                         ::testing::Values("v1/tiny", "v1.1/roberta", "v1.1/multilabel",
                                           "v1.2/shallow", "v1.3/cut", "v1.4/electra",
                                           "v1.5/sentences", "v1.6/tokens", "v1.8/vit"),
                         [](const ::testing::TestParamInfo<const char*>& file) {
                           std::string name = file.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == '/' || c == '.'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace sti
