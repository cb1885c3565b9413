#include "format/importance_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "format/small_file_test.h"
#include "types/importance_rank.h"

namespace sti {
namespace {

Importance Example() {
  Importance importance;
  for (uint8_t i = 0; i < 16; ++i) importance.model.bytes[i] = i;
  importance.metric = "accuracy";
  importance.examples = 872;
  importance.baseline = 0.1 + 0.2;  // not exact in decimal
  importance.layers = 2;
  importance.width = 3;
  importance.scores = {0.5, 0.75, 0.5, 1.0 / 3, 0.5, 1e-300};
  importance.losses = {0.2, 0.9, 0.1, 3, 0.2, -1};
  importance.standard_error = 0.006;
  importance.kernel = "avx2/fp32";
  return importance;
}

Status ParseStatus(std::span<const uint8_t> file) {
  auto parsed = ParseImportance(file, "a.file");
  return parsed.ok() ? Status() : Status(parsed.error());
}

void ExpectEqual(const Importance& a, const Importance& b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.metric, b.metric);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_EQ(a.baseline, b.baseline);
  EXPECT_EQ(a.layers, b.layers);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.scores, b.scores);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.standard_error, b.standard_error);
  EXPECT_EQ(a.kernel, b.kernel);
}

TEST(ImportanceFile, BothSpellingsHoldTheSame) {
  for (bool losses : {true, false}) {
    Importance example = Example();
    if (!losses) example.losses.clear();
    const auto binary = EncodeImportance(example);
    const std::string json = ImportanceToJson(example);
    auto from_binary = ParseImportance(binary, "a.file");
    auto from_json = ParseImportance(test::Bytes(json), "a.file");
    ASSERT_TRUE(from_binary.ok()) << from_binary.error().message;
    ASSERT_TRUE(from_json.ok()) << from_json.error().message;
    ExpectEqual(*from_binary, example);
    ExpectEqual(*from_json, example);
    EXPECT_EQ(EncodeImportance(*from_json), binary);
    EXPECT_EQ(ImportanceToJson(*from_binary), json);
  }
}

TEST(ImportanceFile, RankFollowsScoresThenLossesThenPlace) {
  const auto rank = ImportanceRank(Example());
  const std::vector<std::pair<uint32_t, uint32_t>> expected = {{0, 1}, {0, 2}, {0, 0},
                                                               {1, 1}, {1, 0}, {1, 2}};
  EXPECT_EQ(rank, expected);
  const auto json = nlohmann::json::parse(ImportanceToJson(Example()));
  EXPECT_EQ(json["rank"][1], nlohmann::json::array({0, 2}));
  EXPECT_EQ(json["scores"][1][1], 0.5);
}

TEST(ImportanceFile, DamageIsFound) {
  test::ExpectDamageIsFound(EncodeImportance(Example()), ParseStatus);
}

TEST(ImportanceFile, WrongFieldsAreNamed) {
  const std::string json = ImportanceToJson(Example());
  test::ExpectRefused(json, "\"model\"", "\"modle\"", "model is missing", ParseStatus);
  test::ExpectRefused(json, "\"scores\"", "\"stores\"", "scores is missing", ParseStatus);
  test::ExpectRefused(json, "0.75", "\"x\"", "scores is not", ParseStatus);
  test::ExpectRefused(json, "0.75,", "", "scores is not layers rows", ParseStatus);
  test::ExpectRefused(json, "0.75", "1e999", "not well-formed JSON", ParseStatus);
  test::ExpectRefused(json, "\"layers\": 2", "\"layers\": -2", "layers is not", ParseStatus);
  test::ExpectRefused(json, "\"layers\": 2", "\"layers\": 2000", "scores is not", ParseStatus);
  test::ExpectRefused(json, "\"accuracy\"", "\"luck\"", "metric is not", ParseStatus);
  test::ExpectRefused(json, "000102", "zz0102", "32 hexadecimal", ParseStatus);
  test::ExpectRefused(json, "872", "-1", "examples is not", ParseStatus);
}

TEST(ImportanceFile, UnknownFieldsAreIgnored) {
  std::string json = ImportanceToJson(Example());
  json.replace(json.find('{'), 1, " {\"new\": [1, {}],");
  EXPECT_TRUE(ParseStatus(test::Bytes(json)).ok());
}

TEST(ImportanceFile, NonFiniteBinaryIsRefused) {
  Importance example = Example();
  example.scores[2] = std::nan("");
  EXPECT_FALSE(ParseStatus(EncodeImportance(example)).ok());
}

}  // namespace
}  // namespace sti
