// Models that continue texts, from folder to the hidden rows of the last layer, against the
// framework that they are published for (tests/data/README.md), and passes of prompts against one
// another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "format/row_codec.h"
#include "import/model_folder.h"
#include "import/shard_model.h"
#include "io/container_file.h"
#include "network/tensors.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/plans.h"
#include "support/temp_folder.h"
#include "text/model_tokenizer.h"
#include "types/finite.h"

namespace sti {
namespace {

using Floats = std::vector<float>;

/// A prompt, its ids, and the logits of the token behind it that transformers gives.
struct Example {
  std::string text;
  std::vector<uint32_t> ids;
  std::vector<double> logits;
};

class NextToken : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string data = STI_SOURCE_DIR "/tests/data/gpt2-tiny";
    const auto folder = ModelFolder::Open(data);
    ASSERT_TRUE(Succeeded(folder));
    ASSERT_TRUE(Succeeded(ShardModel(*folder, {}, path_)));
    std::ifstream lines(data + "/expected.jsonl");
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      examples_.push_back({json.at("text"), json.at("ids"), json.at("logits")});
    }
    ASSERT_EQ(examples_.size(), 7U);
  }

  std::unique_ptr<Pipeline> Make(const PipelineOptions& options = {}, uint32_t begin = 0,
                                 uint32_t end = 2, uint32_t microbatch = 1) {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    auto plan = MakeWholePlan(file->index(), {});
    EXPECT_TRUE(Succeeded(plan));
    plan->microbatch = microbatch;
    auto pipeline = Pipeline::Create(std::move(file).value(), LayersOf(*plan, begin, end), options);
    EXPECT_TRUE(Succeeded(pipeline));
    return pipeline.ok() ? std::move(pipeline).value() : nullptr;
  }

  // The hidden rows of the last layer.
  static Floats Rows(Pipeline& pipeline, const std::vector<uint32_t>& ids,
                     const std::vector<uint32_t>& offsets = {}) {
    const std::vector<uint32_t> types(ids.size());
    PassOutput output;
    output.hidden = true;
    RunReport report;
    EXPECT_TRUE(Succeeded(pipeline.Run({TokenInput{ids, types}, offsets}, {}, &output, &report)));
    return output.values;
  }

  // The logits of every word for a hidden row: its norm, and the word's row times that.
  Floats LogitsOf(std::span<const float> row) {
    auto file = ContainerFile::Open(path_);
    Floats weight;
    Floats bias;
    const auto& location = file->index().Resident(ResidentKind::kHead);
    EXPECT_TRUE(Succeeded(file->VisitTensors(
        ResidentKind::kHead, 0,
        [&](TensorRole role, uint64_t, std::span<const uint8_t> values) -> Status {
          Floats& to = role == TensorRole::kFinalNormWeight ? weight : bias;
          const size_t width = BytesOf(location.type);
          for (size_t i = 0; i < values.size(); i += width)
            to.push_back(LoadValue(location.type, &values[i]));
          return {};
        })));
    const size_t d = row.size();
    double mean = 0;
    double variance = 0;
    for (const float value : row) mean += value / static_cast<double>(d);
    for (const float value : row) variance += std::pow(value - mean, 2) / static_cast<double>(d);
    std::vector<double> normed(d);
    for (size_t i = 0; i < d; ++i)
      normed[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * weight[i] + bias[i];
    Floats logits;
    const RowTable& words = file->index().words;
    EXPECT_TRUE(Succeeded(file->ForEachRow(
        words, [&](std::span<const uint8_t> stored, const Status& checked) -> Status {
          Floats word(d, 0.0F);
          AddRow(words, stored, word.data());
          double logit = 0;
          for (size_t i = 0; i < d; ++i) logit += normed[i] * double{word[i]};
          logits.push_back(static_cast<float>(logit));
          return checked;
        })));
    return logits;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("gpt2.sti");
  std::vector<Example> examples_;
};

TEST_F(NextToken, RowsGiveTheLogitsOfTransformers) {
  const auto pipeline = Make();
  auto file = ContainerFile::Open(path_);
  const auto tokenizer = LoadTokenizer(*file);
  ASSERT_TRUE(Succeeded(tokenizer));
  for (const Example& example : examples_) {
    EXPECT_EQ(tokenizer->Encode(example.text, std::nullopt, 96).ids, example.ids) << example.text;
    const Floats rows = Rows(*pipeline, example.ids);
    ASSERT_EQ(rows.size(), example.ids.size() * 16);
    const Floats logits = LogitsOf(std::span(rows).last(16));
    ASSERT_EQ(logits.size(), example.logits.size());
    for (size_t i = 0; i < logits.size(); ++i)
      ASSERT_NEAR(logits[i], example.logits[i], 5e-4) << example.text << " " << i;
  }
}

TEST_F(NextToken, ATokenSeesWhatIsInFrontOfIt) {
  const auto pipeline = Make();
  const std::vector<uint32_t>& ids = examples_.back().ids;
  ASSERT_GT(ids.size(), 48U) << "queries of two blocks";
  const Floats whole = Rows(*pipeline, ids);
  for (const size_t count : {1U, 2U, 17U, 48U, 49U}) {
    const Floats some = Rows(*pipeline, {ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count)});
    EXPECT_TRUE(std::ranges::equal(some, std::span(whole).first(some.size()))) << count;
  }
}

TEST_F(NextToken, PromptsOfAPassAreIndependent) {
  const auto pipeline = Make({}, 0, 2, 4);
  std::vector<uint32_t> ids;
  std::vector<uint32_t> offsets{0};
  Floats expected;
  for (size_t i = 0; i < 4; ++i) {
    ids.insert(ids.end(), examples_[i].ids.begin(), examples_[i].ids.end());
    offsets.push_back(static_cast<uint32_t>(ids.size()));
    const Floats own = Rows(*pipeline, examples_[i].ids);
    expected.insert(expected.end(), own.begin(), own.end());
  }
  EXPECT_EQ(Rows(*pipeline, ids, offsets), expected);
}

TEST_F(NextToken, ThreadsAndCutsOfLayersChangeNoBit) {
  const auto pipeline = Make();
  const std::vector<uint32_t>& ids = examples_.back().ids;
  const Floats whole = Rows(*pipeline, ids);
  PipelineOptions three;
  three.threads = 3;
  EXPECT_EQ(Rows(*Make(three), ids), whole);
  const auto first = Make({}, 0, 1);
  const auto second = Make({}, 1, 2);
  const Floats between = Rows(*first, ids);
  PassOutput output;
  output.hidden = true;
  RunReport report;
  ASSERT_TRUE(Succeeded(second->Run({HiddenInput{between}, {}}, {}, &output, &report)));
  EXPECT_EQ(output.values, whole);
}

}  // namespace
}  // namespace sti
