// Vision transformers from folder to logits, against the framework that they are published for
// (tests/data/README.md), and passes of images against one another.
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/verify_model.h"
#include "import/export_model.h"
#include "import/model_folder.h"
#include "import/shard_model.h"
#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/plans.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

using Floats = std::vector<float>;

/// An image, as the model takes it, and the logits that transformers gives.
struct Example {
  Floats values;
  std::vector<double> logits;
};

/// Scales pixels [size, size, channels] as the file of the folder says.
Floats Scaled(const std::vector<uint8_t>& pixels, const ModelInfo& info) {
  const ImageShape& shape = *info.shape.image;
  Floats values;
  for (uint32_t c = 0; c < shape.channels; ++c) {
    for (size_t i = c; i < pixels.size(); i += shape.channels) {
      const float value = static_cast<float>(pixels[i]) / 255;
      values.push_back((value - info.pixels.mean[c]) / info.pixels.deviation[c]);
    }
  }
  return values;
}

class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto folder = ModelFolder::Open(data_);
    ASSERT_TRUE(Succeeded(folder));
    digest_ = ModelDigest(*folder, CodebookKind::kScaledTree);
    ASSERT_TRUE(Succeeded(ShardModel(*folder, {}, path_)));
    std::ifstream lines(data_ + "/expected.jsonl");
    for (std::string line; std::getline(lines, line);) {
      const auto json = nlohmann::json::parse(line);
      examples_.push_back({Scaled(json.at("pixels"), folder->info()), json.at("logits")});
    }
    ASSERT_EQ(examples_.size(), 10U);
  }

  /// Returns a pipeline of layers [begin, end) that takes passes of up to four images.
  std::unique_ptr<Pipeline> Make(const PipelineOptions& options = {}, uint32_t begin = 0,
                                 uint32_t end = 2) {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    auto plan = MakeWholePlan(file->index(), {});
    EXPECT_TRUE(Succeeded(plan));
    plan->microbatch = 4;
    auto pipeline = Pipeline::Create(std::move(file).value(), LayersOf(*plan, begin, end), options);
    EXPECT_TRUE(Succeeded(pipeline));
    return pipeline.ok() ? std::move(pipeline).value() : nullptr;
  }

  static Floats Values(Pipeline& pipeline, const Pass& pass, bool hidden = false) {
    PassOutput output;
    output.hidden = hidden;
    RunReport report;
    EXPECT_TRUE(Succeeded(pipeline.Run(pass, {}, &output, &report)));
    return output.values;
  }
  static Status Run(Pipeline& pipeline, const Pass& pass) {
    PassOutput output;
    RunReport report;
    return pipeline.Run(pass, {}, &output, &report);
  }

  std::string data_ = STI_SOURCE_DIR "/tests/data/vit-tiny";
  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
  Digest digest_;
  std::vector<Example> examples_;
};

TEST_F(Images, LogitsAreTheReferences) {
  const auto pipeline = Make();
  for (const Example& example : examples_) {
    const Floats logits = Values(*pipeline, {ImageInput{example.values}, {}});
    ASSERT_EQ(logits.size(), example.logits.size());
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], example.logits[i], 2e-5);
  }
}

TEST_F(Images, ThoseOfOnePassGiveWhatEachGivesAloneOnAnyThreads) {
  const auto alone = Make();
  Floats all;
  Floats expected;
  for (size_t i = 0; i < 4; ++i) {
    const Floats& image = examples_[i + 2].values;
    const Floats logits = Values(*alone, {ImageInput{image}, {}});
    all.insert(all.end(), image.begin(), image.end());
    expected.insert(expected.end(), logits.begin(), logits.end());
  }
  for (const uint32_t threads : {1U, 2U, 3U}) {
    PipelineOptions options;
    options.threads = threads;
    const auto together = Make(options);
    EXPECT_EQ(Values(*together, {ImageInput{all}, {}}), expected) << threads;
    const std::vector<uint32_t> offsets{0, 10, 20, 30, 40};
    EXPECT_EQ(Values(*together, {ImageInput{all}, offsets}), expected) << threads;
  }
}

TEST_F(Images, HiddenRowsGoOnInAnotherPipeline) {
  const auto whole = Make();
  const auto first = Make({}, 0, 1);
  const auto second = Make({}, 1, 2);
  const Pass pass{ImageInput{examples_[5].values}, {}};
  const Floats rows = Values(*first, pass, true);
  EXPECT_EQ(rows.size(), 10U * 16);
  EXPECT_EQ(Values(*second, {HiddenInput{rows}, {}}), Values(*whole, pass));
}

TEST_F(Images, WhatIsNoImageIsRefused) {
  const auto pipeline = Make();
  Floats image = examples_[3].values;
  const std::vector<uint32_t> ids(10);
  EXPECT_EQ(Run(*pipeline, {TokenInput{ids, ids}, {}}).error().what,
            "a model of images is given tokens");
  const std::vector<uint32_t> halves{0, 5, 10};
  EXPECT_EQ(Run(*pipeline, {ImageInput{image}, halves}).error().what,
            "offsets that do not split the tokens into images");
  const std::span<const float> cut = std::span(image).first(image.size() - 1);
  EXPECT_FALSE(Run(*pipeline, {ImageInput{cut}, {}}).ok());
  image[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Run(*pipeline, {ImageInput{image}, {}}).error().what,
            "an image with a number that is not finite");
  image.resize(5 * image.size(), 0.0F);
  EXPECT_EQ(Run(*pipeline, {ImageInput{image}, {}}).error().what,
            "a pass of 5 images; the plan takes 4");
  EXPECT_TRUE(Run(*pipeline, {ImageInput{examples_[3].values}, {}}).ok());
}

TEST_F(Images, APlanForAnotherLengthIsRefused) {
  for (const uint32_t length : {9U, 11U}) {
    auto file = ContainerFile::Open(path_);
    ASSERT_TRUE(Succeeded(file));
    auto plan = MakeWholePlan(file->index(), {});
    ASSERT_TRUE(Succeeded(plan));
    plan->length = length;
    EXPECT_FALSE(Pipeline::Create(std::move(*file), std::move(*plan), {}).ok());
  }
}

TEST_F(Images, TheContainerVerifiesAndGivesTheFolderAgain) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  const auto report = VerifyModel(*file, {});
  ASSERT_TRUE(Succeeded(report));
  EXPECT_TRUE(report->damaged.empty());
  const std::string copy = folder_.File("copy");
  ASSERT_TRUE(Succeeded(ExportModel(*file, {}, copy)));
  const auto folder = ModelFolder::Open(copy);
  ASSERT_TRUE(Succeeded(folder));
  EXPECT_EQ(ModelDigest(*folder, CodebookKind::kScaledTree), digest_);
}

}  // namespace
}  // namespace sti
