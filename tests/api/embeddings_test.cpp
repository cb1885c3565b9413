// Models that embed, from folder to vector, against sentence-transformers (tests/data/README.md);
// and that what is for labels alone is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "api/session.h"
#include "io/container_file.h"
#include "model/verify.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"
#include "support/tiny_model.h"
#include "text/tokenizer.h"
#include "whole_session.h"

namespace sti {
namespace {

using Json = nlohmann::json;

const std::string kData = STI_SOURCE_DIR "/tests/data/";

/// Makes the container of a model of the test data as one that embeds.
void MakeContainer(const TempFolder& folder, const std::string& model,
                   const SentenceOptions& options, const std::string& path) {
  const std::string dir = folder.File(model + "." + options.pooling);
  std::filesystem::copy(kData + model, dir, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(Succeeded(AddSentenceModules(dir, options)));
  const auto source = ModelFolder::Open(dir);
  ASSERT_TRUE(Succeeded(source));
  ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path)));
}

Result<std::vector<float>> EmbeddingOf(Session& session, const Encoding& encoding) {
  Answer answer;
  STI_RETURN_IF_ERROR(session.Ask(encoding, Clock::now(), &answer));
  return std::get<Embedding>(answer.content).values;
}

Result<std::vector<float>> EmbeddingOf(Session& session, const std::string& text) {
  STI_ASSIGN_OR_RETURN(const Encoding encoding, session.Encode(text));
  return EmbeddingOf(session, encoding);
}

TEST(Embeddings, AreTheReferences) {
  const TempFolder folder;
  std::map<std::string, std::unique_ptr<Session>> sessions;
  std::ifstream lines(kData + "embeddings.jsonl");
  std::string line;
  size_t count = 0;
  for (; std::getline(lines, line); ++count) {
    const auto json = Json::parse(line);
    const std::string model = json.at("folder");
    const SentenceOptions options{json.at("pooling"), json.at("unit_length")};
    auto& session = sessions[model + options.pooling];
    if (session == nullptr) {
      const std::string path = folder.File(model + options.pooling + ".sti");
      MakeContainer(folder, model, options, path);
      auto opened = OpenWhole(path);
      ASSERT_TRUE(Succeeded(opened));
      session = std::move(*opened);
    }
    const auto vector = EmbeddingOf(*session, json.at("text"));
    ASSERT_TRUE(Succeeded(vector));
    const std::vector<double> expected = json.at("embedding");
    ASSERT_EQ(vector->size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(double{(*vector)[i]}, expected[i], 1e-5) << line;
  }
  EXPECT_EQ(count, 60U);
  EXPECT_EQ(sessions.size(), 12U);
}

class EmbeddingModel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    MakeContainer(folder_, "roberta-tiny", {GetParam(), GetParam() == "mean", 30}, path_);
  }

  TempFolder folder_;
  std::string path_ = folder_.File("model.sti");
};

TEST_P(EmbeddingModel, IsAContainerOf15ThatVerifies) {
  auto file = ContainerFile::Open(path_);
  ASSERT_TRUE(Succeeded(file));
  EXPECT_EQ(FileBytes(path_)[10], 5) << "its minor version";
  EXPECT_FALSE(file->index().info.has_labels());
  EXPECT_FALSE(HasHeadPart(file->index().info));
  const auto report = VerifyContainer(*file, {});
  ASSERT_TRUE(Succeeded(report));
  EXPECT_TRUE(report->damaged.empty());
}

TEST_P(EmbeddingModel, TextsOfOnePassGiveWhatEachGivesAlone) {
  constexpr const char* kTexts[] = {"a", "the movie", "a b c"};
  const auto alone = [](Session& session, const Encoding& encoding) {
    return EmbeddingOf(session, encoding);
  };
  ExpectOnePassGivesWhatEachGives(path_, kTexts, alone);
}

TEST_P(EmbeddingModel, APrefixIsPartOfTheText) {
  auto plain = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(plain));
  SessionOptions options;
  options.prefix = "a b ";
  auto prefixed = OpenWhole(path_, options);
  ASSERT_TRUE(Succeeded(prefixed));
  EXPECT_EQ(*EmbeddingOf(**prefixed, "the movie"), *EmbeddingOf(**plain, "a b the movie"));
  EXPECT_NE(*EmbeddingOf(**prefixed, "the movie"), *EmbeddingOf(**plain, "the movie"));
  // Tokens stand for bytes of the text that was given, and those of the prefix for none.
  const auto encoding = (*prefixed)->Encode("the movie");
  ASSERT_TRUE(Succeeded(encoding));
  EXPECT_EQ(encoding->offsets,
            (std::vector<ByteRange>{{0, 0}, {0, 0}, {0, 0}, {0, 3}, {4, 6}, {6, 9}, {0, 0}}));
}

TEST_P(EmbeddingModel, FirstDimensionsHaveTheLengthOfTheWhole) {
  auto whole = OpenWhole(path_);
  ASSERT_TRUE(Succeeded(whole));
  std::vector<float> expected = *EmbeddingOf(**whole, "the movie");
  expected.resize(5);
  if (GetParam() == "mean") {  // which is of unit length
    double squares = 0;
    for (const float value : expected) squares += double{value} * double{value};
    for (float& value : expected) value = static_cast<float>(double{value} / std::sqrt(squares));
  }
  SessionOptions options;
  options.dimensions = 5;
  auto cut = OpenWhole(path_, options);
  ASSERT_TRUE(Succeeded(cut));
  EXPECT_EQ(*EmbeddingOf(**cut, "the movie"), expected);
  for (const uint32_t wrong : {0U, 17U}) {
    options.dimensions = wrong;
    EXPECT_TRUE(FailedWith(OpenWhole(path_, options), ErrorKind::kUsage, "16 dimensions"));
  }
}

// A plan that was forged, since none is made so.
TEST_P(EmbeddingModel, RunsUnderNoPlanOfLabels) {
  const auto open_with = [&](const auto& change) {
    auto file = ContainerFile::Open(path_);
    EXPECT_TRUE(file.ok());
    Plan plan = *MakeWholePlan(file->index(), {});
    change(plan);
    return Session::Open(std::move(*file), std::move(plan), {});
  };
  const auto expect_refused = [&](const auto& change) {
    EXPECT_TRUE(FailedWith(open_with(change), ErrorKind::kUsage, "which are for labels"));
  };
  expect_refused([](Plan& plan) {
    plan.turn_bytes = 0;
    PlanTurn turn;
    turn.bits = plan.bits;
    plan.turns = {turn};
  });
  expect_refused([](Plan& plan) {  // for short inputs
    PlanCore& variant = plan.variants.emplace_back(plan);
    variant.length = 2;
    variant.bits = Grid<uint32_t>(2, 2, 2);
  });
  EXPECT_TRUE(
      Succeeded(open_with([](Plan& plan) { plan.variants.emplace_back(plan).length = 2; })));
  expect_refused([](Plan& plan) {
    plan.target_us = 1e6;
    plan.times.emplace().layer_io_us.assign(plan.layers.size(), 0);
    plan.fallback.emplace();
    plan.fallback->layers = {0};
    plan.fallback->width = 1;
    plan.fallback->bits = 2;
  });
}

INSTANTIATE_TEST_SUITE_P(Poolings, EmbeddingModel, ::testing::Values("mean", "cls", "max"),
                         [](const auto& model) { return model.param; });

}  // namespace
}  // namespace sti
