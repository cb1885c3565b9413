// Answers of the C library that are no labels of texts: vectors, spans, and labels of images.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sti_fixture.h"

namespace sti {
namespace {

// A model that embeds gives this thread's last vector and no labels; one that gives labels none.
TEST_F(StiTest, AModelThatEmbedsGivesVectors) {
  std::vector<float> vector(40, 7);
  ASSERT_TRUE(Is(STI_OK, Run("a text"), error_));
  EXPECT_EQ(sti_vector(model_, vector.data(), 40), 0U);
  EXPECT_EQ(sti_stat(model_, STI_DIMENSIONS), 0);

  const std::string dir = folder_.File("sentences");
  const std::string path = folder_.File("sentences.sti");
  ASSERT_TRUE(Succeeded(WriteTinyModel(dir)));
  ASSERT_TRUE(Succeeded(AddSentenceModules(dir)));
  const auto source = ModelFolder::Open(dir);
  ASSERT_TRUE(Succeeded(source));
  ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path)));
  sti_model* model = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path.c_str(), &model, &error_), error_));
  EXPECT_EQ(sti_stat(model, STI_DIMENSIONS), 32);
  EXPECT_EQ(sti_stat(model, STI_LABELS), 0);
  EXPECT_EQ(sti_vector(model, vector.data(), 40), 0U) << "nothing was asked";
  ASSERT_TRUE(Is(STI_OK, RunOn(model, "a text"), error_));
  EXPECT_EQ(sti_vector(model, nullptr, 0), 32U);
  EXPECT_EQ(sti_vector(model, vector.data(), 31), 32U);
  EXPECT_EQ(vector, std::vector<float>(40, 7)) << "there was no room";
  EXPECT_EQ(sti_vector(model, vector.data(), 40), 32U);
  EXPECT_EQ(vector[32], 7) << "and no more is written";
  double squares = 0;
  for (size_t i = 0; i < 32; ++i) squares += double{vector[i]} * double{vector[i]};
  EXPECT_NEAR(squares, 1, 1e-6);
  EXPECT_EQ(sti_label(model, 0), -1);
  EXPECT_TRUE(std::isnan(sti_score(model, 0)));
  EXPECT_EQ(sti_name(model, 0), nullptr);
  EXPECT_EQ(sti_stat(model, STI_CHOSEN), 0);
  // An answer of another thread is none of this one's.
  std::thread([&] { EXPECT_EQ(sti_vector(model, vector.data(), 40), 0U); }).join();
  sti_close(model);
  EXPECT_EQ(sti_vector(nullptr, nullptr, 0), 0U);
}

// A model that labels tokens gives this thread's last spans, and no labels of the text.
TEST_F(StiTest, AModelThatLabelsTokensGivesSpans) {
  std::vector<sti_span> spans(64);
  ASSERT_TRUE(Is(STI_OK, Run("a text"), error_));
  EXPECT_EQ(sti_spans(model_, spans.data(), 64), 0U);
  EXPECT_EQ(sti_stat(model_, STI_TOKEN_LABELS), 0);

  const std::string path = folder_.File("tokens.sti");
  const auto source = ModelFolder::Open(STI_SOURCE_DIR "/tests/data/spans-bert");
  ASSERT_TRUE(Succeeded(source));
  ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path)));
  sti_model* model = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path.c_str(), &model, &error_), error_));
  EXPECT_EQ(sti_stat(model, STI_TOKEN_LABELS), 1);
  EXPECT_EQ(sti_stat(model, STI_LABELS), 7);
  EXPECT_EQ(sti_stat(model, STI_DIMENSIONS), 0);
  EXPECT_EQ(sti_spans(model, spans.data(), 64), 0U) << "nothing was asked";
  const std::string text = "Anna van der Beek, Berlin 3.14 (good) film";
  uint32_t by_token = 0;
  for (const int64_t way : {STI_AGGREGATION_NONE, STI_AGGREGATION_FIRST, STI_AGGREGATION_AVERAGE,
                            STI_AGGREGATION_MAX, STI_AGGREGATION_SIMPLE}) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model, STI_AGGREGATION, way, &error_), error_));
    ASSERT_TRUE(Is(STI_OK, RunOn(model, text), error_));
    const uint32_t count = sti_spans(model, nullptr, 0);
    EXPECT_GT(count, 0U);
    EXPECT_EQ(sti_stat(model, STI_SPANS), count);
    spans[count].begin = 777;
    EXPECT_EQ(sti_spans(model, spans.data(), count - 1), count) << "there was no room";
    ASSERT_EQ(sti_spans(model, spans.data(), count), count);
    EXPECT_EQ(spans[count].begin, 777U) << "and no more is written";
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_LT(spans[i].begin, spans[i].end);
      EXPECT_LE(spans[i].end, text.size());
      EXPECT_TRUE(spans[i].score > 0 && spans[i].score <= 1);
      const std::string name = sti_name(model, spans[i].name);
      EXPECT_EQ(name.find('-') != std::string::npos, way == STI_AGGREGATION_NONE) << name;
    }
    if (way == STI_AGGREGATION_NONE) by_token = count;
    EXPECT_LE(count, by_token) << "tokens are joined";
  }
  EXPECT_STREQ(sti_name(model, 7), "PER") << "kinds stand behind labels";
  EXPECT_EQ(sti_name(model, 10), nullptr);
  EXPECT_TRUE(Is(STI_USAGE, sti_set(model, STI_AGGREGATION, 5, &error_), error_));
  // Examples are for models that embed; what is refused or taken back changes no name.
  const std::string examples = "text\tlabel\na\tx\nb\ty\n";
  EXPECT_TRUE(Is(STI_FOREIGN,
                 sti_give(model, STI_EXAMPLES, examples.data(), examples.size(), &error_), error_));
  EXPECT_TRUE(Is(STI_OK, sti_give(model, STI_EXAMPLES, "", 0, &error_), error_));
  EXPECT_STREQ(sti_name(model, 7), "PER");
  EXPECT_EQ(sti_label(model, 0), -1);
  EXPECT_TRUE(std::isnan(sti_score(model, 0)));
  EXPECT_EQ(sti_vector(model, nullptr, 0), 0U);
  EXPECT_EQ(sti_stat(model, STI_CHOSEN), 0);
  const uint32_t ids[] = {2, 5, 3};
  EXPECT_TRUE(Is(STI_BAD_INPUT, sti_run_ids(model, ids, 3, &error_), error_));
  EXPECT_EQ(sti_spans(model, nullptr, 0), 0U) << "a run that failed leaves no answer";
  std::thread([&] { EXPECT_EQ(sti_spans(model, nullptr, 0), 0U); }).join();
  sti_close(model);
  EXPECT_EQ(sti_spans(nullptr, nullptr, 0), 0U);
}

// The rows of tests/data/vit-tiny/expected.jsonl: the pixels [size, size, channels] of each image.
std::vector<std::vector<int>> TinyImages() {
  std::ifstream lines(STI_SOURCE_DIR "/tests/data/vit-tiny/expected.jsonl");
  std::vector<std::vector<int>> images;
  for (std::string line; std::getline(lines, line);)
    images.push_back(nlohmann::json::parse(line)["pixels"].get<std::vector<int>>());
  return images;
}

TEST_F(StiTest, AModelOfImagesTakesPixelsOrNumbers) {
  const std::string path = folder_.File("images.sti");
  const auto source = ModelFolder::Open(STI_SOURCE_DIR "/tests/data/vit-tiny");
  ASSERT_TRUE(Succeeded(source));
  ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path)));
  sti_model* model = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path.c_str(), &model, &error_), error_));
  EXPECT_EQ(sti_stat(model, STI_IMAGE_SIZE), 12);
  EXPECT_EQ(sti_stat(model, STI_IMAGE_CHANNELS), 3);
  EXPECT_EQ(sti_stat(model_, STI_IMAGE_SIZE), 0);
  EXPECT_EQ(sti_stat(model, STI_LONGEST), 10);
  const auto run = [&](const auto& bytes) {
    return sti_run_image(model, bytes.data(), bytes.size() * sizeof(bytes[0]), &error_);
  };
  const float mean[] = {0.5F, 0.4F, 0.3F};
  const float deviation[] = {0.5F, 0.25F, 0.2F};
  const std::vector<std::vector<int>> images = TinyImages();
  ASSERT_EQ(images.size(), 10U);
  for (const std::vector<int>& pixels : images) {
    std::string ppm = "P6 12 12 255\n";
    for (const int pixel : pixels) ppm += static_cast<char>(pixel);
    ASSERT_TRUE(Is(STI_OK, run(ppm), error_));
    const std::vector<double> scores = ScoresOf(model);
    ASSERT_EQ(scores.size(), 4U);
    std::vector<float> values(pixels.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = i / 144;
      const auto pixel = static_cast<float>(pixels[i % 144 * 3 + channel] / 255.0);
      values[i] = (pixel - mean[channel]) / deviation[channel];
    }
    ASSERT_TRUE(Is(STI_OK, run(values), error_));
    for (size_t label = 0; label < 4; ++label)
      EXPECT_NEAR(scores[label], ScoresOf(model)[label], 1e-6);
    EXPECT_EQ(sti_stat(model, STI_TOKENS), 10);
  }
  // Bytes that are no image leave no answer, and the model goes on; so do calls for texts.
  EXPECT_TRUE(Is(STI_BAD_INPUT, run(std::string("P6 12 12 255\n")), error_));
  EXPECT_EQ(sti_label(model, 0), -1);
  EXPECT_TRUE(Is(STI_BAD_INPUT, run(std::string()), error_));
  EXPECT_TRUE(Is(STI_BAD_INPUT, run(std::string("\x89PNG\r\n\x1a\n")), error_));
  EXPECT_TRUE(Is(STI_BAD_INPUT, run(std::vector<float>(432, std::nanf(""))), error_));
  EXPECT_TRUE(Is(STI_USAGE, RunOn(model, "a text"), error_));
  EXPECT_STREQ(error_.text, "the model takes images, and no texts");
  const uint32_t ids[] = {1, 2};
  EXPECT_TRUE(Is(STI_USAGE, sti_run_ids(model, ids, 2, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, run(std::vector<float>(432, 0.0F)), error_));
  sti_close(model);
}

TEST_F(StiTest, AModelOfImagesIsProfiledPlannedAndBounded) {
  const std::string path = folder_.File("images.sti");
  const auto source = ModelFolder::Open(STI_SOURCE_DIR "/tests/data/vit-tiny");
  ASSERT_TRUE(Succeeded(ShardModel(*source, {}, path)));
  sti_model* model = nullptr;
  ASSERT_TRUE(Is(STI_OK, sti_open(host_, path.c_str(), &model, &error_), error_));
  const std::vector<float> image(432, 0.25F);
  const auto run = [&] { return sti_run_image(model, image.data(), 4 * image.size(), &error_); };
  ASSERT_TRUE(Is(STI_OK, run(), error_));
  const std::vector<double> scores = ScoresOf(model);
  size_t size = 0;
  EXPECT_TRUE(Is(STI_USAGE, sti_profile(model, 10'000, nullptr, 0, &size, &error_), error_));
  ASSERT_GT(size, 0U) << error_.text;
  ASSERT_TRUE(Is(STI_OK, sti_set(model, STI_TARGET_US, 10'000'000, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_plan(model, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, run(), error_));
  EXPECT_EQ(ScoresOf(model), scores);
  EXPECT_GT(sti_stat(model, STI_PREDICTED_US), 0);
  // Options that are for texts say so, and set back the model goes on.
  for (const auto& [option, value] :
       {std::pair(STI_LENGTH, 10), {STI_TURNS, 2}, {STI_GUARANTEE, 1}}) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model, option, value, &error_), error_));
    EXPECT_TRUE(Is(STI_USAGE, sti_plan(model, &error_), error_)) << option;
    ASSERT_TRUE(Is(STI_OK, sti_set(model, option, 0, &error_), error_));
  }
  for (const auto& [option, value] : {std::pair(STI_WINDOW, 8), {STI_LATE, STI_LATE_DEGRADE}}) {
    ASSERT_TRUE(Is(STI_OK, sti_set(model, option, value, &error_), error_));
    EXPECT_TRUE(Is(STI_USAGE, run(), error_)) << option;
    ASSERT_TRUE(Is(STI_OK, sti_set(model, option, 0, &error_), error_));
  }
  ASSERT_TRUE(Is(STI_OK, sti_trim(model, 0, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, sti_wake(model, &error_), error_));
  ASSERT_TRUE(Is(STI_OK, run(), error_));
  EXPECT_EQ(ScoresOf(model), scores);
  sti_close(model);
}

}  // namespace
}  // namespace sti
