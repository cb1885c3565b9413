// Models that continue texts, from folder to the tokens that they make, against the framework that
// they are published for (tests/data/README.md), and passes of prompts against one another.
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
  std::vector<uint32_t> made;  ///< the tokens behind it, each the likeliest
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
      examples_.push_back({json.at("text"), json.at("ids"), json.at("logits"), json.at("made")});
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

  // How a plan that continues texts has its vocabulary, and how much of it is read at once.
  enum class Words : uint8_t { kKept, kStreamed, kInFewBytes };

  // A plan for a context of all positions, with a variant for one token.
  Plan ContinuingPlan(Words words) {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    Plan plan = *MakeWholePlan(file->index(), {});
    plan.context = 96;
    plan.keeps_vocabulary = words == Words::kKept;
    if (words == Words::kInFewBytes) {
      plan.read_bytes = 4096;
      plan.staging_bytes = 24 << 10;
    }
    PlanCore one = plan;
    one.length = 1;
    plan.variants.push_back(one);
    return plan;
  }
  std::unique_ptr<Pipeline> Open(Plan plan, const PipelineOptions& options = {}) {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    auto pipeline = Pipeline::Create(std::move(file).value(), std::move(plan), options);
    EXPECT_TRUE(Succeeded(pipeline));
    return pipeline.ok() ? std::move(pipeline).value() : nullptr;
  }

  static Status Run(Pipeline& pipeline, std::span<const uint32_t> ids,
                    std::optional<uint32_t> first, Floats* logits) {
    const std::vector<uint32_t> types(ids.size());
    PassOutput output;
    RunReport report;
    Status status = pipeline.Run({TokenInput{ids, types}, {}, first}, {}, &output, &report);
    *logits = std::move(output.values);
    return status;
  }
  // The logits of all words behind these tokens, the first of which is `first` in its sequence;
  // nothing: the pass has its whole sequence.
  static Floats Logits(Pipeline& pipeline, std::span<const uint32_t> ids,
                       std::optional<uint32_t> first = std::nullopt) {
    Floats logits;
    EXPECT_TRUE(Succeeded(Run(pipeline, ids, first, &logits)));
    return logits;
  }
  static Status Refusal(Pipeline& pipeline, std::span<const uint32_t> ids, uint32_t first) {
    Floats logits;
    return Run(pipeline, ids, first, &logits);
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

TEST_F(NextToken, TheHeadGivesTheLogitsOfTransformers) {
  const auto kept = Open(ContinuingPlan(Words::kKept));
  const auto streamed = Open(ContinuingPlan(Words::kStreamed));
  const auto bounded = Open(ContinuingPlan(Words::kInFewBytes));
  for (const Example& example : examples_) {
    const Floats logits = Logits(*kept, example.ids);
    ASSERT_EQ(logits.size(), example.logits.size());
    for (size_t i = 0; i < logits.size(); ++i)
      ASSERT_NEAR(logits[i], example.logits[i], 5e-4) << example.text << " " << i;
    EXPECT_EQ(Logits(*streamed, example.ids), logits);
    EXPECT_EQ(Logits(*bounded, example.ids), logits);
  }
  EXPECT_GT(kept->status().resident_bytes, streamed->status().resident_bytes);
  EXPECT_LT(bounded->status().staging_bytes, streamed->status().staging_bytes);
}

// The prompt in one pass, then a token a pass.
TEST_F(NextToken, MakesTheTokensOfTransformers) {
  PipelineOptions three;
  three.threads = 3;
  PipelineOptions lazy;
  lazy.lazy = true;
  for (const Words words : {Words::kKept, Words::kStreamed, Words::kInFewBytes}) {
    for (const PipelineOptions& options : {PipelineOptions(), three, lazy}) {
      const auto pipeline = Open(ContinuingPlan(words), options);
      const auto fresh = Open(ContinuingPlan(Words::kKept));
      for (const Example& example : examples_) {
        std::vector<uint32_t> ids = example.ids;
        Floats logits = Logits(*pipeline, ids, 0);
        for (const uint32_t made : example.made) {
          ASSERT_EQ(std::ranges::max_element(logits) - logits.begin(), made) << example.text;
          ids.push_back(made);
          if (ids.size() == 96) break;
          logits = Logits(*pipeline, std::span(ids).last(1), static_cast<uint32_t>(ids.size() - 1));
          ASSERT_EQ(logits, Logits(*fresh, ids)) << ids.size();
        }
      }
    }
  }
}

TEST_F(NextToken, AnyCutOfAPromptHasTheBitsOfTheWhole) {
  const auto pipeline = Open(ContinuingPlan(Words::kStreamed));
  const std::span<const uint32_t> ids = examples_.back().ids;
  const Floats whole = Logits(*pipeline, ids);
  for (uint32_t cut = 1; cut < ids.size(); ++cut) {
    (void)Logits(*pipeline, ids.first(cut), 0);
    ASSERT_EQ(Logits(*pipeline, ids.subspan(cut), cut), whole) << cut;
    // Back to an earlier token: what came behind it is forgotten.
    const uint32_t back = cut / 2;
    ASSERT_EQ(Logits(*pipeline, ids.subspan(back), back), whole) << cut;
    // A pass that has all of its sequence leaves the one that is continued alone.
    const Floats other = Logits(*pipeline, examples_[0].ids);
    ASSERT_EQ(Logits(*pipeline, ids.last(1), static_cast<uint32_t>(ids.size() - 1)), whole);
    ASSERT_EQ(Logits(*pipeline, examples_[0].ids, 0), other);
  }
}

TEST_F(NextToken, ASequenceIsForgottenWithItsPlan) {
  const auto pipeline = Open(ContinuingPlan(Words::kKept));
  const std::span<const uint32_t> ids = examples_.back().ids;
  const Floats whole = Logits(*pipeline, ids, 0);
  const auto expect_forgotten = [&] {
    EXPECT_TRUE(FailedWith(Refusal(*pipeline, ids.last(1), 53), ErrorKind::kUsage, "0 are there"));
    EXPECT_EQ(Logits(*pipeline, ids, 0), whole);
  };
  ASSERT_TRUE(Succeeded(pipeline->SetPlan(ContinuingPlan(Words::kStreamed))));
  EXPECT_EQ(pipeline->status().resident_bytes,
            Open(ContinuingPlan(Words::kStreamed))->status().resident_bytes);
  expect_forgotten();
  ASSERT_TRUE(Succeeded(pipeline->SetPlan(ContinuingPlan(Words::kKept))));
  EXPECT_EQ(pipeline->status().resident_bytes,
            Open(ContinuingPlan(Words::kKept))->status().resident_bytes);
  expect_forgotten();
  ASSERT_TRUE(Succeeded(pipeline->Rest()));
  expect_forgotten();
  // A plan that is refused once it is being loaded leaves the words, or the next run brings them.
  Plan foreign = ContinuingPlan(Words::kStreamed);
  foreign.context = 97;
  EXPECT_TRUE(FailedWith(pipeline->SetPlan(foreign), ErrorKind::kForeign, "context 97"));
  EXPECT_EQ(Logits(*pipeline, ids.last(1), 53), whole);
  Plan without = ContinuingPlan(Words::kKept);
  without.context = 0;
  without.variants.clear();
  ASSERT_TRUE(Succeeded(pipeline->SetPlan(without)));
  EXPECT_TRUE(FailedWith(Refusal(*pipeline, ids, 0), ErrorKind::kUsage, "without a context"));
  EXPECT_EQ(Logits(*pipeline, ids), whole);
}

TEST_F(NextToken, PiecesThatAreNoneAreRefused) {
  Plan plan = ContinuingPlan(Words::kStreamed);
  plan.context = 60;
  plan.length = 56;
  plan.variants[0].context = 60;
  plan.times = PlanTimes{.layer_us = 1, .layer_io_us = {0, 0}};
  const auto pipeline = Open(plan);
  const std::span<const uint32_t> ids = examples_.back().ids;
  const Floats whole = Logits(*pipeline, ids, 0);
  EXPECT_TRUE(FailedWith(Refusal(*pipeline, ids.first(1), 55), ErrorKind::kUsage, "54 are there"));
  EXPECT_TRUE(
      FailedWith(Refusal(*pipeline, ids.first(7), 54), ErrorKind::kDamaged, "context of 60"));
  EXPECT_TRUE(FailedWith(Refusal(*pipeline, {}, 54), ErrorKind::kDamaged, "without tokens"));
  const std::vector<uint32_t> types(4);
  const std::vector<uint32_t> offsets{0, 2, 4};
  PassOutput output;
  RunReport report;
  EXPECT_TRUE(
      FailedWith(pipeline->Run({TokenInput{ids.first(4), types}, offsets, 0}, {}, &output, &report),
                 ErrorKind::kUsage, "several sequences"));
  RunTerms hurry;
  hurry.degrade_for_us = 1e6;
  EXPECT_TRUE(
      FailedWith(pipeline->Run({TokenInput{ids.first(4), types}, {}, 0}, hurry, &output, &report),
                 ErrorKind::kUsage, "deadline"));
  // A refusal has changed nothing.
  EXPECT_EQ(Logits(*pipeline, ids.last(1), 53), whole);
}

TEST_F(NextToken, PlansWhoseVariantsDifferAreRefused) {
  const auto file = ContainerFile::Open(path_);
  Plan bits = ContinuingPlan(Words::kStreamed);
  bits.variants[0].bits.At(1, 1) = 4;
  Plan context = ContinuingPlan(Words::kStreamed);
  context.context = 97;
  Plan shorter = ContinuingPlan(Words::kStreamed);
  shorter.variants[0].context = 95;
  Plan less = ContinuingPlan(Words::kStreamed);
  less.context = less.variants[0].context = less.length - 1;
  const auto refused = [&](const Plan& plan, ErrorKind kind, const char* why) {
    return FailedWith(CheckPlan(*file, plan, ComputeType::kFp32), kind, why);
  };
  EXPECT_TRUE(
      refused(bits, ErrorKind::kDamaged, "variants[0]: it runs other shards than the plan"));
  EXPECT_TRUE(refused(context, ErrorKind::kForeign, "context 97 is more than the 96 tokens"));
  EXPECT_TRUE(refused(shorter, ErrorKind::kDamaged, "variants[0]: its context"));
  EXPECT_TRUE(refused(less, ErrorKind::kDamaged, "context is less than length"));
}

// A row of a word that no text has: only the head reads it.
TEST_F(NextToken, ADamagedWordGivesNoToken) {
  uint64_t offset = 0;
  {
    auto file = ContainerFile::Open(path_);
    const RowTable& words = file->index().words;
    offset = words.offset + 200 * words.row_bytes + 3;
  }
  std::fstream stream(path_, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(byte);
  stream.close();
  for (const Words words : {Words::kStreamed, Words::kInFewBytes}) {
    const auto pipeline = Open(ContinuingPlan(words));
    for (int again = 0; again < 2; ++again) {
      EXPECT_TRUE(FailedWith(Refusal(*pipeline, examples_[0].ids, 0), ErrorKind::kDamaged,
                             "word embedding row 200"));
    }
  }
  auto file = ContainerFile::Open(path_);
  EXPECT_TRUE(
      FailedWith(Pipeline::Create(std::move(file).value(), ContinuingPlan(Words::kKept), {}),
                 ErrorKind::kDamaged, "word embedding row 200"));
}

}  // namespace
}  // namespace sti
