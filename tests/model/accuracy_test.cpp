// The published accuracies of the trained models, submodel by submodel
// (../shared/models/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include "import/shard_model.h"
#include "importance/examples.h"
#include "model/loaded_model.h"
#include "types/plan.h"
#include "types/score.h"

namespace sti {
namespace {

const std::string kShared = STI_SOURCE_DIR "/../shared";
constexpr double kTolerancePoints = 0.3;
constexpr uint32_t kBatchTokens = 2048;

struct PublishedAccuracy {
  uint32_t depth;
  uint32_t width;
  double percent;
};

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The rows below "### <model>": a header "| n \ m | 2 | 3 |", a rule, then one row a depth.
std::vector<PublishedAccuracy> PublishedTable(const std::string& model) {
  std::istringstream lines(ReadText(kShared + "/models/README.md"));
  std::string line;
  while (std::getline(lines, line) && line.rfind("### " + model, 0) != 0) {
  }
  std::vector<double> widths;
  std::vector<PublishedAccuracy> table;
  while (std::getline(lines, line) && line.rfind("###", 0) != 0) {
    std::vector<double> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) {
      char* end = nullptr;
      double value = std::strtod(cell.c_str(), &end);
      if (end != cell.c_str()) cells.push_back(value);
    }
    if (widths.empty()) {
      widths = cells;
    } else if (cells.size() == widths.size() + 1) {
      for (size_t i = 0; i < widths.size(); ++i) {
        table.push_back(
            {static_cast<uint32_t>(cells[0]), static_cast<uint32_t>(widths[i]), cells[i + 1]});
      }
    }
  }
  return table;
}

// A diagonal, so that each depth and each width is tried. With STI_TEST_WHOLE_TABLE=1 it is every
// cell, which takes five times as long.
std::vector<PublishedAccuracy> Tried(const std::vector<PublishedAccuracy>& table) {
  if (std::getenv("STI_TEST_WHOLE_TABLE") != nullptr) return table;
  const auto in_first_row = [&](const auto& cell) { return cell.depth == table.front().depth; };
  const auto columns = std::count_if(table.begin(), table.end(), in_first_row);
  std::vector<PublishedAccuracy> tried;
  for (ptrdiff_t row = 0; row * columns < std::ssize(table); ++row) {
    for (ptrdiff_t column = 0; column < columns; ++column) {
      if ((row + column) % columns == 0) tried.push_back(table[row * columns + column]);
    }
  }
  return tried;
}

double AccuracyPercent(LoadedModel& model, Transformer& transformer,
                       std::span<const ExampleBatch> batches, uint32_t depth, uint32_t width) {
  const ModelInfo& info = model.index().info;
  std::vector<uint32_t> slices(width);
  std::iota(slices.begin(), slices.end(), 0U);
  RunningMean right;
  for (const ExampleBatch& batch : batches) {
    std::vector<float> hidden(batch.ids.size() * info.shape.hidden);
    EXPECT_TRUE(
        model.Embed(transformer, batch.batch(), batch.ids, batch.types, hidden.data()).ok());
    const std::vector<uint32_t>& layers = info.depth_layers[depth - 1];
    for (uint32_t layer : layers) {
      std::vector<ShardView> views;
      for (uint32_t slice : slices) views.push_back(model.View(layer, slice, kFullBits));
      // The head looks at first tokens alone; this test takes long as it is.
      const OutputRows rows = layer == layers.back() ? OutputRows::kFirst : OutputRows::kAll;
      transformer.RunLayer({batch.batch(), {views, slices, model.resident().layers[layer]}, rows},
                           hidden.data());
    }
    std::vector<float> logits(batch.truths.size() * info.shape.labels);
    transformer.Classify(batch.batch().sequences(), hidden.data(), model.resident().head,
                         logits.data());
    for (size_t s = 0; s < batch.truths.size(); ++s) {
      std::span<const float> row(&logits[s * info.shape.labels], info.shape.labels);
      right.Add(ArgMax(row) == batch.truths[s]->front() ? 100.0 : 0.0);
    }
  }
  return right.mean();
}

TEST(Accuracy, Sst2ReachesThePublishedTable) {
  const std::string name = "sst2-minilm-12x12";
  if (!std::filesystem::exists(kShared + "/models/" + name)) {
    GTEST_SKIP() << "needs ../shared/models/" << name;
  }
  auto folder = ModelFolder::Open(kShared + "/models/" + name);
  ASSERT_TRUE(folder.ok()) << folder.error().Message();
  std::string path = testing::TempDir() + "accuracy.sti";
  ShardOptions options;
  options.bits = {kFullBits};
  options.threads = 2;
  ASSERT_TRUE(ShardModel(*folder, options, path).ok());
  auto file = ContainerFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.error().Message();
  auto vocabulary = Vocabulary::FromText(folder->vocabulary_text());
  ASSERT_TRUE(vocabulary.ok());
  Tokenizer tokenizer(std::move(*vocabulary), folder->info().tokenizer);
  auto examples = ParseDataset(ReadText(kShared + "/data/SST-2/dev.tsv"), "dev.tsv",
                               {.labels = folder->info().labels});
  ASSERT_TRUE(examples.ok());
  const uint32_t bits[1] = {kFullBits};
  auto model = LoadedModel::Load(std::move(*file), bits);
  ASSERT_TRUE(model.ok()) << model.error().Message();
  ThreadPool pool(2);
  auto transformer = Transformer::Create(folder->info(), pool, {Backend::kNative});
  ASSERT_TRUE(transformer.ok());
  auto batches = BatchExamples(tokenizer, *examples, Metric::kAccuracy, 512, kBatchTokens);
  auto table = PublishedTable(name);
  ASSERT_EQ(table.size(), 45U);
  for (const PublishedAccuracy& row : Tried(table)) {
    double percent = AccuracyPercent(*model, **transformer, batches, row.depth, row.width);
    EXPECT_NEAR(percent, row.percent, kTolerancePoints) << row.depth << "x" << row.width;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sti
