// DistilBERT, RoBERTa, ELECTRA and a multi-label BERT, from folder to logits, against the framework
// they are published for (tests/data/README.md).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/container_file.h"
#include "model/verify.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

class ArchitecturesTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto folder = ModelFolder::Open(data_);
    ASSERT_TRUE(Succeeded(folder));
    auto vocabulary = Vocabulary::FromText(folder->vocabulary_text());
    ASSERT_TRUE(Succeeded(vocabulary));
    auto tokenizer = Tokenizer::Create(std::move(vocabulary).value(), folder->merges_text(),
                                       folder->info().tokenizer);
    ASSERT_TRUE(Succeeded(tokenizer));
    tokenizer_ = std::make_unique<Tokenizer>(std::move(tokenizer).value());
    ASSERT_TRUE(Succeeded(ShardModel(*folder, {}, path_)));
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    auto plan = MakeWholePlan(file->index(), {});
    ASSERT_TRUE(Succeeded(plan));
    auto pipeline = Pipeline::Create(std::move(file).value(), std::move(plan).value(), {});
    ASSERT_TRUE(Succeeded(pipeline));
    pipeline_ = std::move(pipeline).value();
  }

  std::string data_ = STI_SOURCE_DIR "/tests/data/" + GetParam() + "-tiny";
  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_P(ArchitecturesTest, IdsAndLogitsAreTheReferences) {
  std::ifstream lines(data_ + "/expected.jsonl");
  std::string line;
  size_t count = 0;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    const std::string text = json.at("text");
    std::optional<std::string> pair;
    if (json.contains("pair")) pair = json.at("pair").get<std::string>();
    const Encoding encoding = tokenizer_->Encode(text, pair, pipeline_->plan().length);
    EXPECT_EQ(encoding.ids, json.at("ids").get<std::vector<uint32_t>>());
    const auto result = RunTokens(*pipeline_, encoding.ids, encoding.types);
    ASSERT_TRUE(Succeeded(result));
    const std::vector<double> expected = json.at("logits");
    ASSERT_EQ(result->values.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(double{result->values[i]}, expected[i], 1e-5) << text << " label " << i;
    }
    ++count;
  }
  EXPECT_EQ(count, 10U);
}

TEST_P(ArchitecturesTest, TextsOfOnePassGiveWhatEachGivesAlone) {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> types;
  std::vector<uint32_t> offsets{0};
  std::vector<float> expected;
  for (const char* text : {"a", "the movie", "a b c"}) {
    const Encoding encoding = tokenizer_->Encode(text, std::nullopt, pipeline_->plan().length);
    const auto alone = RunTokens(*pipeline_, encoding.ids, encoding.types);
    ASSERT_TRUE(Succeeded(alone));
    expected.insert(expected.end(), alone->values.begin(), alone->values.end());
    ids.insert(ids.end(), encoding.ids.begin(), encoding.ids.end());
    types.insert(types.end(), encoding.types.begin(), encoding.types.end());
    offsets.push_back(static_cast<uint32_t>(ids.size()));
  }
  PassOutput output;
  RunReport report;
  ASSERT_TRUE(Succeeded(pipeline_->Run({TokenInput{ids, types}, offsets}, {}, &output, &report)));
  EXPECT_EQ(output.values, expected);
}

TEST_P(ArchitecturesTest, TheContainerVerifies) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const auto report = VerifyContainer(*file, {});
  ASSERT_TRUE(Succeeded(report));
  EXPECT_TRUE(report->damaged.empty());
}

INSTANTIATE_TEST_SUITE_P(Architectures, ArchitecturesTest,
                         ::testing::Values("distilbert", "roberta", "multilabel", "electra",
                                           "electra-even"));

// Facts of 1.1 are in the digest, and the files of 1.0 keep theirs (frozen_file_test).
TEST(ModelDigestTest, KnowsProblemAndMerges) {
  const std::string data = STI_SOURCE_DIR "/tests/data/";
  const auto digest_of = [](const std::string& path) {
    const auto folder = ModelFolder::Open(path);
    EXPECT_TRUE(Succeeded(folder));
    return ModelDigest(*folder, CodebookKind::kGobo);
  };
  const auto copy_with = [](const TempFolder& folder, const std::string& from,
                            const std::string& name, const std::string& cut) {
    std::filesystem::copy(from, folder.path(), std::filesystem::copy_options::recursive);
    const std::vector<uint8_t> bytes = FileBytes(folder.File(name));
    std::string text(bytes.begin(), bytes.end());
    const size_t at = text.find(cut);
    ASSERT_NE(at, std::string::npos);
    ASSERT_TRUE(WriteBytes(folder.File(name), text.erase(at, cut.size())).ok());
  };
  const TempFolder multilabel;
  copy_with(multilabel, data + "multilabel-tiny", "config.json",
            "\"problem_type\": \"multi_label_classification\",");
  EXPECT_NE(digest_of(multilabel.path()), digest_of(data + "multilabel-tiny"));
  const TempFolder roberta;
  copy_with(roberta, data + "roberta-tiny", "merges.txt", "\u0120 m\n");
  EXPECT_NE(digest_of(roberta.path()), digest_of(data + "roberta-tiny"));
}

}  // namespace
}  // namespace sti
