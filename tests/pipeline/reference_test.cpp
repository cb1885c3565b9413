// Logits against an independent implementation, on the real models of ../shared.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "io/container_file.h"
#include "pipeline/pipeline.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "types/plan.h"
#include "types/score.h"

namespace sti {
namespace {

const std::string kShared = std::string(STI_SOURCE_DIR) + "/../shared/";

class ReferenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kShared + "models/" + GetParam() + "/model.safetensors") ||
        !std::filesystem::exists(kShared + "reference/" + GetParam() + "-logits.jsonl")) {
      GTEST_SKIP() << "no reference for " << GetParam() << " beside this checkout";
    }
    const auto folder = ModelFolder::Open(kShared + "models/" + GetParam());
    ASSERT_TRUE(Succeeded(folder));
    ShardOptions options;
    options.bits = {kFullBits};
    options.threads = 2;
    auto report = ShardModel(*folder, options, path_);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }

  Pipeline* PipelineFor(const std::vector<uint32_t>& layers, uint32_t width) {
    auto& pipeline = pipelines_[{layers, width}];
    if (pipeline) return pipeline.get();
    Plan plan;
    plan.model = index_.model;
    plan.length = index_.info.shape.max_positions;
    plan.layers = layers;
    plan.width = width;
    const auto depth = static_cast<uint32_t>(layers.size());
    plan.slices = Grid<uint32_t>(depth, width);
    for (uint32_t k = 0; k < depth; ++k) {
      for (uint32_t i = 0; i < width; ++i) plan.slices.At(k, i) = i;
    }
    plan.bits = Grid<uint32_t>(depth, width, kFullBits);
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(Succeeded(file));
    PipelineOptions options;
    options.threads = 2;
    auto made = Pipeline::Create(std::move(file).value(), plan, options);
    EXPECT_TRUE(Succeeded(made));
    if (made.ok()) pipeline = std::move(made).value();
    return pipeline.get();
  }

  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
  ContainerIndex index_;
  std::map<std::pair<std::vector<uint32_t>, uint32_t>, std::unique_ptr<Pipeline>> pipelines_;
};

TEST_P(ReferenceTest, LogitsAndLabelsAreTheReferences) {
  std::ifstream lines(kShared + "reference/" + GetParam() + "-logits.jsonl");
  std::string line;
  size_t count = 0;
  double worst = 0;
  while (std::getline(lines, line)) {
    const auto json = nlohmann::json::parse(line);
    const std::vector<uint32_t> ids = json.at("ids");
    const std::vector<float> expected = json.at("logits");
    Pipeline* pipeline = PipelineFor(json.at("layers"), json.at("width"));
    ASSERT_NE(pipeline, nullptr);
    const auto result = RunTokens(*pipeline, ids, std::vector<uint32_t>(ids.size(), 0));
    ASSERT_TRUE(Succeeded(result));
    ASSERT_EQ(result->values.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const double distance = std::abs(double{result->values[i]} - double{expected[i]});
      ASSERT_LE(distance, 5e-4) << "line " << count + 1 << " label " << i;
      worst = std::max(worst, distance);
    }
    EXPECT_EQ(ArgMax(result->values), ArgMax(expected)) << "line " << count + 1;
    ++count;
  }
  EXPECT_GT(count, 20U);
  RecordProperty("worst", std::to_string(worst));
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Models, ReferenceTest,
                         ::testing::Values("clinc150-tiny-6x12", "clinc150-minilm-6x12",
                                           "sst2-minilm-12x12"),
                         NameOf);

}  // namespace
}  // namespace sti
