#include "format/plan_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "format/small_file_test.h"

namespace sti {
namespace {

Plan Example() {
  Plan plan;
  plan.model.bytes[0] = 0xAB;
  plan.shape.bytes[15] = 1;
  plan.strategy = "sti";
  plan.length = 64;
  plan.layers = {1, 4};
  plan.width = 2;
  plan.slices = {{0, 1}, {0, 1}};
  plan.bits = {{2, 6}, {32, 3}};
  plan.preload = {{1, 0, 2}};
  plan.preload_bytes = 36864;
  plan.aib_us = {0, 1.0 / 3};
  plan.slack_us = -0.125;
  plan.target_us = 200000;
  plan.meets_target = false;
  plan.predicted_latency_us = 199999.9;
  plan.predicted_p99_us = 200000.1;
  plan.predicted_peak_bytes = uint64_t{1} << 62;
  plan.parameter_bytes = 12345678901;
  plan.kernel = "avx2";
  plan.read_path = "threads";
  return plan;
}

Plan WithVariant() {
  Plan plan = Example();
  Plan variant = Example();
  variant.length = 128;
  variant.strategy = "load-exec";
  variant.aib_us.clear();
  variant.slack_us.reset();
  variant.target_us.reset();
  variant.predicted_accuracy = 0.9;
  variant.shape = {};
  variant.meets_target = true;
  plan.variants.push_back(variant);
  return plan;
}

Status ParseStatus(std::span<const uint8_t> file) {
  auto parsed = ParsePlan(file, "a.file");
  return parsed.ok() ? Status() : Status(parsed.error());
}

TEST(PlanFile, BothSpellingsHoldTheSame) {
  for (const Plan& example : {Example(), WithVariant()}) {
    const auto binary = EncodePlan(example);
    const std::string json = PlanToJson(example);
    auto from_binary = ParsePlan(binary, "a.file");
    auto from_json = ParsePlan(test::Bytes(json), "a.file");
    ASSERT_TRUE(from_binary.ok()) << from_binary.error().message;
    ASSERT_TRUE(from_json.ok()) << from_json.error().message;
    // Every field goes into both spellings, so equal spellings are equal plans.
    EXPECT_EQ(EncodePlan(*from_binary), binary);
    EXPECT_EQ(EncodePlan(*from_json), binary);
    EXPECT_EQ(PlanToJson(*from_binary), json);
    EXPECT_EQ(from_binary->bits, example.bits);
    EXPECT_EQ(from_binary->preload, example.preload);
    EXPECT_EQ(from_binary->aib_us, example.aib_us);
    EXPECT_EQ(from_binary->slack_us, example.slack_us);
    EXPECT_EQ(from_binary->predicted_accuracy, example.predicted_accuracy);
    EXPECT_EQ(from_binary->variants.size(), example.variants.size());
    EXPECT_EQ(from_json->parameter_bytes, example.parameter_bytes);
    EXPECT_EQ(from_json->predicted_peak_bytes, uint64_t{1} << 62);
  }
}

TEST(PlanFile, JsonHasEveryPromisedField) {
  const auto json = nlohmann::json::parse(PlanToJson(WithVariant()));
  for (const char* field : {"strategy",
                            "length",
                            "layers",
                            "width",
                            "slices",
                            "bits",
                            "preload",
                            "preload_bytes",
                            "aib_us",
                            "slack_us",
                            "target_us",
                            "meets_target",
                            "predicted_latency_us",
                            "predicted_p99_us",
                            "predicted_peak_bytes",
                            "predicted_accuracy",
                            "parameter_bytes",
                            "variants",
                            "turns",
                            "model",
                            "shape",
                            "kernel",
                            "read_path"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_TRUE(json["predicted_accuracy"].is_null());
  EXPECT_TRUE(json["variants"][0]["aib_us"].is_null());
  EXPECT_TRUE(json["turns"].empty());
  EXPECT_EQ(json["preload"][0]["layer"], 1);
}

TEST(PlanFile, DamageIsFound) { test::ExpectDamageIsFound(EncodePlan(WithVariant()), ParseStatus); }

TEST(PlanFile, WrongFieldsAreNamed) {
  const std::string json = PlanToJson(WithVariant());
  auto refused = [&](const char* from, const char* to, const char* words) {
    test::ExpectRefused(json, from, to, words, ParseStatus);
  };
  refused("\"model\"", "\"m\"", "model is missing");
  refused("\"layers\"", "\"l\"", "layers is missing");
  refused("[1,4]", "[4,1]", "layers does not ascend");
  refused("[1,4]", "[4,4]", "layers does not ascend");
  refused("[1,4]", "[1,4,5]", "one row a layer");
  refused("[1,4]", "[]", "1 to 1024");
  refused("[1,4]", "[1,5000]", "above 1023");
  refused("[2,6]", "[2,7]", "bits is not 2 to 6");
  refused("[2,6]", "[2]", "row 0");
  refused("[0,1]", "[0,0]", "is there twice");
  refused("[0,1]", "[0,256]", "slices end at 255");
  refused("\"bits\":2", "\"bits\":3", "preload");
  refused("\"width\": 2", "\"width\": \"2\"", "width is not");
  refused("\"meets_target\": false", "\"meets_target\": 0", "meets_target is not");
  refused("\"length\": 64", "\"length\": 0", "length is not");
  refused("\"length\": 128", "\"length\": 0", "variants[0]: length is not");
  refused("200000.0", "-1", "target_us is negative");
}

TEST(PlanFile, VariantsDoNotNest) {
  Plan plan = WithVariant();
  plan.variants[0].variants.push_back(Example());
  EXPECT_FALSE(ParseStatus(EncodePlan(plan)).ok());
  EXPECT_FALSE(ParseStatus(test::Bytes(PlanToJson(plan))).ok());
  plan = Example();
  plan.variants.assign(65, Example());
  EXPECT_FALSE(ParseStatus(EncodePlan(plan)).ok());
}

TEST(PlanFile, AnEditedPlanNeedsLittle) {
  const std::string text = R"({"model": "ab000000000000000000000000000000", "length": 64,
    "layers": [0], "width": 1, "slices": [[3]], "bits": [[4]]})";
  auto plan = ParsePlan(test::Bytes(text), "a.file");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(plan->meets_target);
  EXPECT_FALSE(plan->target_us);
}

}  // namespace
}  // namespace sti
