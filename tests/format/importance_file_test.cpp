#include "format/importance_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "format/importance_rules.h"
#include "format/small_file_test.h"
#include "support/expect.h"
#include "types/importance.h"

namespace sti {
namespace {

Importance ExampleImportance() {
  Importance importance;
  for (uint8_t i = 0; i < 16; ++i) importance.model.bytes[i] = i;
  importance.metric = Metric::kAccuracy;
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

Importance WithValues() {
  Importance importance = ExampleImportance();
  importance.submodels = {
      {1, 2, 2, 0.25, 3.5}, {1, 2, 32, 1, -0.5}, {1, 3, 2, 0.1 + 0.2, 0}, {2, 1, 6, 0, 1e-300}};
  importance.gain_bits = {3, 32};
  for (int i = 0; i < 12; ++i) importance.gains.push_back(0.1 * i - 0.35);
  for (uint8_t i = 0; i < 16; ++i) importance.data.bytes[i] = 255 - i;
  importance.errors = {0, 0.1, 0.2, 1e-300, 3, 0.5};
  importance.estimate = "first-order";
  return importance;
}

Importance WithOrder() {
  Importance importance = ExampleImportance();
  importance.order.heads = {2, 0, 1, 0, 1, 2};
  importance.order.neurons = {5, 4, 3, 2, 1, 0, 0, 2, 4, 1, 3, 5};
  importance.order.depth_layers = {{1}, {0, 1}};
  return importance;
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
  EXPECT_EQ(a.submodels, b.submodels);
  EXPECT_EQ(a.gain_bits, b.gain_bits);
  EXPECT_EQ(a.gains, b.gains);
  EXPECT_EQ(a.data, b.data);
  EXPECT_EQ(a.errors, b.errors);
  EXPECT_EQ(a.estimate, b.estimate);
  EXPECT_EQ(a.order, b.order);
  EXPECT_EQ(a.cascade_levels, b.cascade_levels);
  EXPECT_EQ(a.cascades, b.cascades);
}

Importance WithCascades() {
  Importance importance = ExampleImportance();
  importance.cascade_levels = {{1, 1, 2, 0.5, 1.25, 0.75, 0.5, 0.25, 0.125},
                               {1, 3, 2, 0.75, 1, 0.5, 0.5, 0.125, 0.125},
                               {2, 3, 4, 1, 0.5, 0.25, 0.125, 0, 0}};
  importance.cascades = {
      {{0, 2},
       0,
       {{0.5, std::nullopt, {0.625}, {0.25, 0.75}, {1, 0.5}, 0.625, {1}},
        {0.5, 8, {1}, {0.125, 0.875}, {1, 0.5}, 0.625, {1}}}},
      {{0, 1, 2}, 0.5, {{1, std::nullopt, {1, 1}, {0, 0, 1}, {0, 0, 1}, 1, {0.5, 0.75}}}}};
  importance.cascades[0].cuts[1].difference_error = 0.0625;
  return importance;
}

// Expects that the value is refused in both spellings, with these words.
void ExpectRefusedValue(const Importance& importance, const std::string& words) {
  const std::string json_text = ImportanceToJson(importance);
  for (const Status& status : {test::StatusOf<ParseImportance>(EncodeImportance(importance)),
                               test::StatusOf<ParseImportance>(AsBytes(json_text))}) {
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_EQ(status.error().kind, ErrorKind::kDamaged);
    EXPECT_NE(status.error().Message().find(words), std::string::npos) << status.error().Message();
  }
}

TEST(ImportanceFile, LevelsThatCannotBeAreRefused) {
  const auto refused = [](const auto& change, const std::string& words) {
    Importance importance = WithCascades();
    change(importance);
    ExpectRefusedValue(importance, words);
  };
  using I = Importance;
  refused([](I& i) { i.cascade_levels[2].depth = 3; }, "levels holds layers, width or bits");
  refused([](I& i) { i.cascade_levels[0].bits = 7; }, "levels holds layers, width or bits");
  refused([](I& i) { std::swap(i.cascade_levels[0], i.cascade_levels[1]); },
          "levels is not sorted");
  refused([](I& i) { i.cascade_levels[1] = i.cascade_levels[0]; }, "levels is not sorted");
  refused([](I& i) { i.cascade_levels[1].temperature = 0; }, "temperature that is not from 0.001");
  refused([](I& i) { i.cascade_levels[1].temperature = 1001; },
          "temperature that is not from 0.001");
  refused([](I& i) { i.cascade_levels[1].accuracy = 1.5; }, "accuracy or an ECE");
  refused([](I& i) { i.cascade_levels[1].ece = -0.5; }, "accuracy or an ECE");
  refused([](I& i) { i.cascade_levels[1].calibrated_nll = -1; }, "an NLL that is negative");
  refused([](I& i) { i.cascade_levels.clear(); }, "levels that do not ascend, or are not in");
}

TEST(ImportanceFile, CascadesThatCannotBeAreRefused) {
  const auto refused = [](const auto& change, const std::string& words) {
    Importance importance = WithCascades();
    change(importance.cascades[0]);
    ExpectRefusedValue(importance, words);
  };
  using C = CascadeScore;
  refused([](C& c) { c.levels = {2, 0}; }, "levels that do not ascend");
  refused([](C& c) { c.levels = {0, 3}; }, "are not in levels");
  refused([](C& c) { c.alpha = 1.5; }, "alpha that is not from 0 to 1");
  refused([](C& c) { c.cuts.clear(); }, "has not 1 to 256 cuts");
  refused([](C& c) { c.cuts.resize(257, c.cuts[0]); }, "has not 1 to 256 cuts");
  refused([](C& c) { c.cuts[0].cutoff = -0.5; }, "cutoff that is not from 0 to 1");
  refused([](C& c) { c.cuts[1].slope = -8; }, "slope that is not a number above 0");
  refused([](C& c) { c.cuts[0].difference_error = -0.5; }, "a difference_error that is not");
  refused([](C& c) { c.cuts[0].difference_error = 1.5; }, "a difference_error that is not");
  refused([](C& c) { c.cuts[0].weights = {1.5}; }, "weights or words_left");
  refused([](C& c) { c.cuts[0].words_left = {-0.5}; }, "weights or words_left");
  refused([](C& c) { c.cuts[0].accuracies[1] = 2; }, "shares or accuracies");
  refused([](C& c) { c.cuts[0].shares = {0.5, 0.25}; }, "shares whose sum is not 1");
  refused([](C& c) { c.cuts[0].accuracy = 2; }, "accuracy that is not from 0 to 1");
}

TEST(ImportanceFile, ListsOfACascadeAgreeInLength) {
  Importance importance = WithCascades();
  importance.cascades[0].cuts[0].weights.push_back(1);
  ExpectRefusedValue(importance, "cascade");
  const std::string json = ImportanceToJson(WithCascades());
  test::ExpectRefused(json, "\"slope\": 8.0", "\"slope\": 0", "slope that is not a number above 0",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"cutoff\"", "\"cut\"", "cutoff is missing",
                      test::StatusOf<ParseImportance>);
}

// In the binary spelling a cascade is lists beside each other, each of which may be too short.
TEST(ImportanceFile, EveryListOfACascadeHasANumberForEachCut) {
  Importance importance = WithCascades();
  importance.cascades.resize(1);
  importance.cascades[0].cuts = {
      {0.11, 8.5, {0.51}, {0.21, 0.79}, {0.31, 0.32}, 0.41, {0.61}, 0.071},
      {0.12, 9.5, {0.52}, {0.22, 0.78}, {0.33, 0.34}, 0.42, {0.62}, 0.072}};
  const std::vector<uint8_t> whole = EncodeImportance(importance);
  ASSERT_TRUE(Succeeded(test::StatusOf<ParseImportance>(whole)));
  const auto table = UnwrapFrame(kImportanceMagic, whole, "importance");
  ASSERT_TRUE(Succeeded(table));
  for (const double first : {0.11, 8.5, 0.51, 0.21, 0.31, 0.41, 0.61, 0.071}) {
    std::vector<uint8_t> payload = *table;
    std::array<uint8_t, sizeof(double)> pattern;
    std::memcpy(pattern.data(), &first, sizeof(double));
    const auto found = std::search(payload.begin(), payload.end(), pattern.begin(), pattern.end());
    ASSERT_NE(found, payload.end()) << first;
    --*(found - 4);  // the list's length
    EXPECT_TRUE(FailedWith(test::StatusOf<ParseImportance>(WrapFrame(kImportanceMagic, payload)),
                           ErrorKind::kDamaged, "cascade"))
        << first;
  }
}

TEST(ImportanceFile, BothSpellingsHoldTheSame) {
  std::vector<Importance> examples(7, ExampleImportance());
  examples[1].losses.clear();
  examples[2].submodels = WithValues().submodels;
  examples[3] = WithValues();
  examples[3].submodels.clear();
  examples[4] = WithValues();
  examples[5] = WithOrder();
  examples[6] = WithCascades();
  for (const Importance& example : examples) {
    const auto binary = EncodeImportance(example);
    const std::string json = ImportanceToJson(example);
    auto from_binary = ParseImportance(binary, "a.file");
    auto from_json = ParseImportance(AsBytes(json), "a.file");
    ASSERT_TRUE(from_binary.ok()) << from_binary.error().Message();
    ASSERT_TRUE(from_json.ok()) << from_json.error().Message();
    ExpectEqual(*from_binary, example);
    ExpectEqual(*from_json, example);
    EXPECT_EQ(EncodeImportance(*from_json), binary);
    EXPECT_EQ(ImportanceToJson(*from_binary), json);
  }
}

TEST(ImportanceFile, RankFollowsScoresThenLossesThenPlace) {
  const auto rank = ImportanceRank(ExampleImportance());
  const std::vector<ShardId> expected = {{0, 1}, {0, 2}, {0, 0}, {1, 1}, {1, 0}, {1, 2}};
  EXPECT_EQ(rank, expected);
  const auto json = nlohmann::json::parse(ImportanceToJson(ExampleImportance()));
  EXPECT_EQ(json["rank"][1], nlohmann::json::array({0, 2}));
  EXPECT_EQ(json["scores"][1][1], 0.5);
}

TEST(ImportanceFile, DamageIsFound) {
  test::ExpectDamageIsFound(EncodeImportance(ExampleImportance()), test::StatusOf<ParseImportance>);
}

TEST(ImportanceFile, WrongFieldsAreNamed) {
  const std::string json = ImportanceToJson(ExampleImportance());
  test::ExpectRefused(json, "\"model\"", "\"modle\"", "model is missing",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"scores\"", "\"stores\"", "scores is missing",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "0.75", "\"x\"", "scores is not", test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "0.75,", "", "scores is not layers rows",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "0.75", "1e999", "not well-formed JSON",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"layers\": 2", "\"layers\": -2", "layers is not",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"layers\": 2", "\"layers\": 2000", "scores is not",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"accuracy\"", "\"luck\"", "metric is not",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "000102", "zz0102", "32 hexadecimal", test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "872", "-1", "examples is not", test::StatusOf<ParseImportance>);
}

// A correlation may be negative, and a share of examples may not.
TEST(ImportanceFile, QualitiesOfSubmodelsAreWithinTheMetric) {
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    Importance importance = WithValues();
    importance.metric = static_cast<Metric>(i);
    const bool may_be_negative =
        importance.metric == Metric::kCosine || importance.metric == Metric::kSpearman;
    const double least = may_be_negative ? -1 : 0;
    for (const auto& [accuracy, sound] :
         {std::pair(least, true), std::pair(1.0, true), std::pair(least - 0x1p-40, false),
          std::pair(1 + 0x1p-40, false), std::pair(double{NAN}, false)}) {
      importance.submodels[1].accuracy = accuracy;
      const Status status = test::StatusOf<ParseImportance>(EncodeImportance(importance));
      EXPECT_EQ(status.ok(), sound) << NameOf(importance.metric) << " " << accuracy;
      if (!std::isnan(accuracy)) {
        EXPECT_EQ(test::StatusOf<ParseImportance>(AsBytes(ImportanceToJson(importance))).ok(),
                  sound);
      }
    }
  }
}

// They reach terminals and pictures as they are.
TEST(ImportanceFile, TextsThatAreLongOrNotPrintableAreRefused) {
  const std::string rule = " is not at most 64 bytes of printable ASCII";
  for (const std::string& bad :
       {std::string("a\033[2J"), std::string("two\nlines"), std::string("\x7f"),
        std::string("\xc2\x9b"), std::string("a\0b", 3), std::string(65, 'x')}) {
    Importance importance = WithValues();
    importance.estimate = bad;
    const std::string words = "a.file: estimate" + rule;
    const Status binary = test::StatusOf<ParseImportance>(EncodeImportance(importance));
    ASSERT_FALSE(binary.ok()) << bad;
    EXPECT_EQ(binary.error().Message().rfind(words, 0), 0u) << binary.error().Message();
    const Status json = test::StatusOf<ParseImportance>(AsBytes(ImportanceToJson(importance)));
    ASSERT_FALSE(json.ok()) << bad;
    EXPECT_EQ(json.error().Message().rfind(words, 0), 0u) << json.error().Message();
    importance = WithValues();
    importance.kernel = bad;
    const Status kernel = test::StatusOf<ParseImportance>(EncodeImportance(importance));
    ASSERT_FALSE(kernel.ok()) << bad;
    EXPECT_EQ(kernel.error().Message().rfind("a.file: kernel" + rule, 0), 0u);
  }
  Importance longest = WithValues();
  longest.estimate = std::string(63, '~') + " ";
  longest.kernel = longest.estimate;
  EXPECT_TRUE(test::StatusOf<ParseImportance>(EncodeImportance(longest)).ok());
}

TEST(ImportanceFile, OneLineASubmodelAndAListOfGainsAShard) {
  const std::string json = ImportanceToJson(WithValues());
  EXPECT_NE(json.find("{\"layers\":1,\"width\":2,\"bits\":32,\"accuracy\":1.0,\"loss\":-0.5}"),
            std::string::npos)
      << json;
  const auto parsed = nlohmann::json::parse(json);
  EXPECT_EQ(parsed["gains"].size(), 2U);
  EXPECT_EQ(parsed["gains"][1].size(), 3U);
  EXPECT_EQ(parsed["gains"][1][2], nlohmann::json::array({0.1 * 10 - 0.35, 0.1 * 11 - 0.35}));
}

TEST(ImportanceFile, DamageToValuesIsFound) {
  test::ExpectDamageIsFound(EncodeImportance(WithValues()), test::StatusOf<ParseImportance>);
}

TEST(ImportanceFile, WrongSubmodelsAreNamed) {
  const std::string json = ImportanceToJson(WithValues());
  const std::string first = "{\"layers\":1,\"width\":2,\"bits\":2,";
  auto refused = [&](const std::string& to, const std::string& words) {
    test::ExpectRefused(json, first, to, words, test::StatusOf<ParseImportance>);
  };
  refused("{\"layers\":0,\"width\":2,\"bits\":2,", "no such model has");
  refused("{\"layers\":3,\"width\":2,\"bits\":2,", "no such model has");
  refused("{\"layers\":1,\"width\":0,\"bits\":2,", "no such model has");
  refused("{\"layers\":1,\"width\":4,\"bits\":2,", "no such model has");
  refused("{\"layers\":1,\"width\":2,\"bits\":1,", "no such model has");
  refused("{\"layers\":1,\"width\":2,\"bits\":7,", "no such model has");
  refused("{\"layers\":1,\"width\":2,\"bits\":32,", "has one twice");
  refused("{\"layers\":1,\"width\":3,\"bits\":2,", "is not sorted");
  refused("{\"layers\":1,\"width\":2,", "submodels[0]: bits is missing");
  refused("3,{\"layers\":1,\"width\":2,\"bits\":2,", "submodels[0]: is not a JSON object");
  refused("{\"layers\":1e30,\"width\":2,\"bits\":2,", "submodels[0]: layers is not");
  test::ExpectRefused(json, "\"accuracy\":0.25", "\"accuracy\":1.5", "accuracy that is not",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"accuracy\":0.25", "\"accuracy\":-0.1", "accuracy that is not",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"loss\":3.5", "\"lost\":3.5", "submodels[0]: loss is missing",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "\"submodels\": [", "\"submodels\": 1, \"old\": [",
                      "submodels is not a list", test::StatusOf<ParseImportance>);
}

TEST(ImportanceFile, ShapesThatNoModelHasAreNamed) {
  EXPECT_EQ(ProblemOfShape(1024, 256), "");
  for (const uint32_t layers : {0, 1025})
    EXPECT_EQ(ProblemOfShape(layers, 1), "layers is not from 1 to 1024");
  for (const uint32_t width : {0, 257})
    EXPECT_EQ(ProblemOfShape(1, width), "width is not from 1 to 256");
}

TEST(ImportanceFile, WrongOrdersAreNamed) {
  const auto refused = [](const ModelOrder& order, const std::string& words) {
    Importance importance = ExampleImportance();
    importance.order = order;
    for (const Status& status :
         {test::StatusOf<ParseImportance>(EncodeImportance(importance)),
          test::StatusOf<ParseImportance>(AsBytes(ImportanceToJson(importance)))}) {
      ASSERT_FALSE(status.ok()) << words;
      EXPECT_EQ(status.error().Message().rfind("a.file: " + words, 0), 0u)
          << status.error().Message();
    }
  };
  const ModelOrder good = WithOrder().order;
  ModelOrder order = good;
  order.heads[4] = 0;
  refused(order, "head_order is not");
  order.heads[4] = 3;
  refused(order, "head_order is not");
  order = good;
  order.heads.pop_back();
  refused(order, "head_order");
  order = good;
  order.neurons[11] = 6;
  refused(order, "neuron_order is not");
  order.neurons.resize(10);
  refused(order, "neuron_order");
  order.neurons.clear();
  refused(order, "neuron_order is not");
  for (const auto& depths : std::vector<std::vector<std::vector<uint32_t>>>{
           {}, {{1}}, {{2}, {0, 1}}, {{0}, {1, 1}}, {{0}, {1, 0}}, {{0}, {0, 1}, {0, 1, 2}}}) {
    order = good;
    order.depth_layers = depths;
    refused(order, "depth_layers is not");
  }
  const std::string json = ImportanceToJson(WithOrder());
  test::ExpectRefused(json, "\"head_order\"", "\"head\"", "head_order is not",
                      test::StatusOf<ParseImportance>);
  test::ExpectRefused(json, "[2,0,1]", "[2,-1,1]", "head_order is not a list of lists",
                      test::StatusOf<ParseImportance>);
}

TEST(ImportanceFile, WrongGainsAreNamed) {
  const std::string json = ImportanceToJson(WithValues());
  auto refused = [&](const std::string& from, const std::string& to, const std::string& words) {
    test::ExpectRefused(json, from, to, words, test::StatusOf<ParseImportance>);
  };
  refused("[3,32]", "[32,3]", "gain_bits does not ascend");
  refused("[3,32]", "[3,3]", "gain_bits does not ascend");
  refused("[3,32]", "[2,32]", "gain_bits holds what is not 3 to 6 or 32");
  refused("[3,32]", "[3,16]", "gain_bits holds what is not 3 to 6 or 32");
  refused("[3,32]", "[-3,32]", "gain_bits is not");
  refused("[3,32]", "[3]", "gains is not layers rows");
  refused("\"gain_bits\"", "\"gained\"", "gains is not layers rows");
  refused("\"gains\"", "\"gained\"", "gains is not layers rows");
  refused("[-0.35,", "[", "gains is not layers rows");
  refused("[-0.35,", "[\"x\",", "gains is not layers rows");
  refused("[-0.35,", "[null,", "gains is not layers rows");
  refused("\"gains\": [", "\"gains\": [[],", "gains is not layers rows");
  refused("\"data\": \"", "\"data\": \"0", "data");
  refused("\"errors\": [", "\"errors\": [[],", "errors is not layers rows");
  refused("\"gains\": [", "\"gains\": 1, \"old\": [", "gains is not layers rows");
}

TEST(ImportanceFile, WrongBinaryValuesAreRefused) {
  const struct {
    void (*spoil)(Importance&);
    const char* words;
  } cases[] = {
      {[](Importance& i) { i.submodels[1].loss = std::nan(""); }, "not a finite number"},
      {[](Importance& i) { i.submodels[1].accuracy = std::nan(""); }, "accuracy that is not"},
      {[](Importance& i) { i.submodels[1].depth = UINT32_MAX; }, "no such model has"},
      {[](Importance& i) { std::swap(i.submodels[0], i.submodels[3]); }, "is not sorted"},
      {[](Importance& i) { i.gains[11] = HUGE_VAL; }, "gains holds what is not"},
      {[](Importance& i) { i.gains.pop_back(); }, "gains is not layers rows"},
      {[](Importance& i) { i.errors.pop_back(); }, "errors is not layers rows"},
      {[](Importance& i) { i.errors[2] = -0.5; }, "errors holds what is negative"},
      {[](Importance& i) { i.errors[5] = HUGE_VAL; }, "errors holds what is negative"},
      {[](Importance& i) { i.gain_bits[0] = 2; }, "gain_bits holds what is not"},
  };
  for (const auto& one : cases) {
    Importance importance = WithValues();
    one.spoil(importance);
    EXPECT_TRUE(FailedWith(ParseImportance(EncodeImportance(importance), "a.file"),
                           ErrorKind::kDamaged, one.words));
  }
}

TEST(ImportanceFile, UnknownFieldsAreIgnored) {
  std::string json = ImportanceToJson(ExampleImportance());
  json.replace(json.find('{'), 1, " {\"new\": [1, {}],");
  EXPECT_TRUE(test::StatusOf<ParseImportance>(AsBytes(json)).ok());
}

TEST(ImportanceFile, NonFiniteBinaryIsRefused) {
  Importance example = ExampleImportance();
  example.scores[2] = std::nan("");
  EXPECT_FALSE(test::StatusOf<ParseImportance>(EncodeImportance(example)).ok());
}

}  // namespace
}  // namespace sti
