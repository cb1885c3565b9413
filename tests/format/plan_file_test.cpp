#include "format/plan_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "format/small_file_test.h"
#include "support/expect.h"

namespace sti {
namespace {

Plan ExamplePlan() {
  Plan plan;
  plan.model.bytes[0] = 0xAB;
  plan.shape.bytes[15] = 1;
  plan.strategy = Strategy::kSti;
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
  plan.kernel.name = "avx2";
  plan.read_path = "threads";
  return plan;
}

Plan WithVariant() {
  Plan plan = ExamplePlan();
  Plan variant = ExamplePlan();
  variant.length = 128;
  variant.strategy = Strategy::kLoadExec;
  variant.aib_us.clear();
  variant.slack_us.reset();
  variant.target_us.reset();
  variant.quality.accuracy = 0.9;
  variant.shape = {};
  variant.meets_target = true;
  plan.variants.push_back(variant);
  return plan;
}

Plan WithTurns() {
  Plan plan = ExamplePlan();
  plan.freq = 1800000;
  plan.wake_us = 250000;
  plan.quality.loss = 0.5;
  plan.turn_bytes = 100000;
  PlanTurn turn;
  turn.bits = plan.bits;
  turn.preload = plan.preload;
  turn.preload_bytes = plan.preload_bytes;
  turn.read_bytes = 4096;
  turn.predicted_latency_us = 12.5;
  turn.predicted_p99_us = 13.5;
  plan.turns.push_back(turn);
  turn.bits = {{3, 6}, {32, 32}};
  turn.preload.push_back({1, 1, 5});
  turn.preload_bytes = 99999;
  turn.aib_us = {0.25, -0.5};
  turn.quality.loss = 0.25;
  turn.quality.accuracy = 0.75;
  plan.turns.push_back(turn);
  return plan;
}

/// Returns a plan and its variant with the fields of 1.2.
Plan WithTimes() {
  Plan plan = WithVariant();
  plan.times = PlanTimes{0, 0, 250.5, 120, 4000, 4400.25, 90, 1.0 / 3, {1250, 0}};
  plan.staging_bytes = 1310720;
  plan.read_bytes = 262144;
  plan.read_depth = 4;
  plan.variants[0].times = PlanTimes{0, 0, 500, 240, 8000, 8100, 90, 0, {2500, 7}};
  plan.variants[0].staging_bytes = 4096;
  return plan;
}

/// Returns a plan, its variant and a turn with the fields of 1.4.
Plan WithCores() {
  Plan plan = WithTurns();
  plan.threads = 4;
  plan.cpus = "4-6,8";
  plan.quality.agreement = 0.9375;
  plan.turns[1].quality.agreement = 0.96875;
  plan.variants.push_back(ExamplePlan());
  plan.variants[0].length = 128;
  plan.variants[0].quality.agreement = 0.5;
  return plan;
}

/// Returns a plan and its variant with the fields of 1.5.
Plan WithFallbacks() {
  Plan plan = WithTimes();
  plan.target_us = plan.variants[0].target_us = 200000;
  Fallback& fallback = plan.fallback.emplace();
  fallback.layers = {0, 3, 4};
  fallback.width = 1;
  fallback.bits = 2;
  fallback.bytes = 12288;
  fallback.embed_us = 120.25;
  fallback.layer_us = 3000.5;
  fallback.last_layer_us = 1000.5;
  fallback.head_us = 90.25;
  fallback.margin_us = 6000;
  fallback.cost_bits = 7;
  fallback.quality = {0.75, 0.5, 0.875};
  plan.variants[0].fallback = plan.fallback;
  plan.variants[0].fallback->cost_bits = -1;
  plan.variants[0].fallback->quality = {};
  return plan;
}

/// Returns a plan and its variant with the fields of 1.7.
Plan OfEmbeddings() {
  Plan plan = WithVariant();
  plan.quality = {.loss = 1.25, .accuracy = {}, .agreement = {}, .cosine = -0.25, .spearman = {}};
  plan.variants[0].quality.accuracy.reset();
  plan.variants[0].quality.spearman = 0.8125;
  return plan;
}

/// Returns a plan and its fallbacks with the fields of 1.8.
Plan OfTokenLabels() {
  Plan plan = WithFallbacks();
  plan.quality = {.loss = 1.25, .accuracy = {}, .agreement = {}, .f1 = 0.8125};
  plan.fallback->quality = {.loss = {}, .accuracy = {}, .agreement = {}, .f1 = 0.25};
  return plan;
}

Plan Cold() {
  Plan plan = ExamplePlan();
  plan.preload.clear();
  plan.preload_bytes = 0;
  plan.cold = true;
  plan.times =
      PlanTimes{10000, 4000, 600, 120, 4000, 4400.25, 90, 15000, {2500, 1250}, 900, 1000.5};
  return plan;
}

TEST(PlanFile, BothSpellingsHoldTheSame) {
  for (const Plan& example : {ExamplePlan(), WithVariant(), WithTurns(), WithTimes(), WithCores(),
                              WithFallbacks(), OfEmbeddings(), OfTokenLabels(), Cold()}) {
    const auto binary = EncodePlan(example);
    const std::string json = PlanToJson(example);
    auto from_binary = ParsePlan(binary, "a.file");
    auto from_json = ParsePlan(AsBytes(json), "a.file");
    ASSERT_TRUE(from_binary.ok()) << from_binary.error().Message();
    ASSERT_TRUE(from_json.ok()) << from_json.error().Message();
    // Every field goes into both spellings, so equal spellings are equal plans.
    EXPECT_EQ(EncodePlan(*from_binary), binary);
    EXPECT_EQ(EncodePlan(*from_json), binary);
    EXPECT_EQ(PlanToJson(*from_binary), json);
    EXPECT_EQ(from_binary->bits, example.bits);
    EXPECT_EQ(from_binary->preload, example.preload);
    EXPECT_EQ(from_binary->aib_us, example.aib_us);
    EXPECT_EQ(from_binary->slack_us, example.slack_us);
    EXPECT_EQ(from_binary->quality.accuracy, example.quality.accuracy);
    EXPECT_EQ(from_binary->variants.size(), example.variants.size());
    EXPECT_EQ(from_binary->turns.size(), example.turns.size());
    EXPECT_EQ(from_json->freq, example.freq);
    EXPECT_EQ(from_json->wake_us, example.wake_us);
    EXPECT_EQ(from_json->quality.loss, example.quality.loss);
    EXPECT_EQ(from_json->turn_bytes, example.turn_bytes);
    EXPECT_EQ(from_binary->times.has_value(), example.times.has_value());
    EXPECT_EQ(from_binary->staging_bytes, example.staging_bytes);
    EXPECT_EQ(from_binary->read_bytes, example.read_bytes);
    EXPECT_EQ(from_binary->read_depth, example.read_depth);
    EXPECT_EQ(from_binary->cold, example.cold);
    EXPECT_EQ(from_binary->threads, example.threads);
    EXPECT_EQ(from_json->cpus, example.cpus);
    EXPECT_EQ(from_binary->fallback.has_value(), example.fallback.has_value());
    EXPECT_EQ(from_binary->quality.agreement, example.quality.agreement);
    EXPECT_EQ(from_binary->quality.cosine, example.quality.cosine);
    EXPECT_EQ(from_json->quality.spearman, example.quality.spearman);
    EXPECT_EQ(from_binary->quality.f1, example.quality.f1);
    if (example.fallback) {
      EXPECT_EQ(from_json->fallback->quality.f1, example.fallback->quality.f1);
    }
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
                            "turn_bytes",
                            "wake_us",
                            "freq",
                            "predicted_loss",
                            "times",
                            "staging_bytes",
                            "read_bytes",
                            "read_depth",
                            "cold",
                            "model",
                            "shape",
                            "kernel",
                            "read_path"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_TRUE(json["predicted_accuracy"].is_null());
  EXPECT_TRUE(json["variants"][0]["aib_us"].is_null());
  EXPECT_TRUE(json["turns"].empty());
  EXPECT_TRUE(json["times"].is_null());
  EXPECT_EQ(json["preload"][0]["layer"], 1);
}

TEST(PlanFile, DamageIsFound) {
  test::ExpectDamageIsFound(EncodePlan(WithVariant()), test::StatusOf<ParsePlan>);
}

TEST(PlanFile, WrongFieldsAreNamed) {
  const std::string json = PlanToJson(WithVariant());
  auto refused = [&](const char* from, const char* to, const char* words) {
    test::ExpectRefused(json, from, to, words, test::StatusOf<ParsePlan>);
  };
  refused("\"model\"", "\"m\"", "model is missing");
  refused("\"layers\"", "\"l\"", "layers is missing");
  refused("[1,4]", "[4,1]", "layers does not ascend");
  refused("[1,4]", "[4,4]", "layers does not ascend");
  refused("[1,4]", "[1,4,5]", "one row a layer");
  refused("[1,4]", "[]", "layers is empty");
  refused("[1,4]", "[1,5000]", "layer 5000 is beyond the last");
  refused("[2,6]", "[2,7]", "bits is not 2 to 6");
  refused("[2,6]", "[2]", "bits has rows that differ in length");
  refused("\"width\": 2", "\"width\": 1", "the rows of slices and bits do not have 1 entries");
  refused("[0,1]", "[0,0]", "is there twice");
  refused("[0,1]", "[0,256]", "layer 1 slice 256 is beyond the last slice");
  refused("\"bits\":2", "\"bits\":3", "preload");
  refused("\"width\": 2", "\"width\": \"2\"", "width is not");
  refused("\"meets_target\": false", "\"meets_target\": 0", "meets_target is not");
  refused("\"length\": 64", "\"length\": 0", "length 0 is less than");
  refused("\"length\": 128", "\"length\": 0", "variants[0]: length 0 is less than");
  refused("200000.0", "-1", "target_us is negative");
  refused("[1,4]", "{\"0\": 1, \"1\": 4}", "layers is not");
  refused("[1,4]", "14", "layers is not");
}

TEST(PlanFile, TimesSurviveBothSpellings) {
  EXPECT_TRUE(test::StatusOf<ParsePlan>(EncodePlan(WithTimes())).ok());
  test::ExpectDamageIsFound(EncodePlan(WithTimes()), test::StatusOf<ParsePlan>);
  const auto json = nlohmann::json::parse(PlanToJson(Cold()));
  for (const char* field :
       {"start_us", "open_io_us", "embed_io_us", "embed_us", "layer_us", "layer_p99_us", "head_us",
        "stall_us", "layer_io_us", "last_layer_us", "last_layer_p99_us"})
    EXPECT_TRUE(json["times"].contains(field)) << field;
  for (const auto& parsed : {ParsePlan(EncodePlan(Cold()), "a.file"),
                             ParsePlan(AsBytes(PlanToJson(Cold())), "a.file")}) {
    ASSERT_TRUE(parsed.ok()) << parsed.error().Message();
    ASSERT_TRUE(parsed->times);
    const PlanTimes& times = *parsed->times;
    EXPECT_EQ(times.start_us, 10000);
    EXPECT_EQ(times.open_io_us, 4000);
    EXPECT_EQ(times.embed_io_us, 600);
    EXPECT_EQ(times.embed_us, 120);
    EXPECT_EQ(times.layer_us, 4000);
    EXPECT_EQ(times.layer_p99_us, 4400.25);
    EXPECT_EQ(times.head_us, 90);
    EXPECT_EQ(times.stall_us, 15000);
    EXPECT_EQ(times.layer_io_us, (std::vector<double>{2500, 1250}));
    EXPECT_EQ(times.last_layer_us, 900);
    EXPECT_EQ(times.last_layer_p99_us, 1000.5);
  }
}

TEST(PlanFile, TimesAndStagingThatCannotBeAreRefused) {
  const struct {
    void (*edit)(Plan&);
    const char* words;
  } cases[] = {
      {[](Plan& p) { p.times->start_us = -1; }, "a.file: times.start_us is negative"},
      {[](Plan& p) { p.times->layer_p99_us = -1; }, "times.layer_p99_us is negative"},
      {[](Plan& p) { p.times->last_layer_us = -1; }, "times.last_layer_us is negative"},
      {[](Plan& p) { p.times->last_layer_p99_us = -1; }, "times.last_layer_p99_us is negative"},
      {[](Plan& p) { p.times->stall_us = -0.5; }, "times.stall_us is negative"},
      {[](Plan& p) { p.times->layer_io_us[1] = -1; }, "times.layer_io_us is negative"},
      {[](Plan& p) { p.times->layer_io_us.push_back(1); }, "times.layer_io_us does not have one"},
      {[](Plan& p) { p.times->layer_io_us.assign(1025, 1); },
       "times.layer_io_us does not have one"},
      {[](Plan& p) { p.variants[0].times->head_us = -1; }, "variants[0]: times.head_us is"},
      {[](Plan& p) { p.staging_bytes = (uint64_t{1} << 40) + 1; }, "staging_bytes is more than"},
      {[](Plan& p) { p.cold = true; }, "a cold plan has a preload, turns or a lead time"},
      {[](Plan& p) { p = Cold(), p.words = {1}; }, "a cold plan has a preload, turns or a lead"},
      {[](Plan& p) { p = Cold(), p.wake_us = 1; }, "a cold plan has a preload, turns or a lead"},
      {[](Plan& p) { p = Cold(), p.turns = WithTurns().turns; }, "a cold plan has"},
      {[](Plan& p) { p = Cold(), p.variants = {Cold()}, p.variants[0].cold = false; },
       "variants[0]: of it and the plan only one starts cold"}};
  for (const auto& c : cases) {
    Plan plan = WithTimes();
    c.edit(plan);
    for (const Status& status : {test::StatusOf<ParsePlan>(EncodePlan(plan)),
                                 test::StatusOf<ParsePlan>(AsBytes(PlanToJson(plan)))}) {
      ASSERT_FALSE(status.ok()) << c.words;
      EXPECT_EQ(status.error().kind, ErrorKind::kDamaged);
      EXPECT_NE(status.error().Message().find(c.words), std::string::npos)
          << status.error().Message();
    }
  }
  for (const double never : {std::nan(""), static_cast<double>(INFINITY)}) {
    Plan plan = WithTimes();
    plan.times->layer_io_us[0] = never;
    EXPECT_FALSE(test::StatusOf<ParsePlan>(EncodePlan(plan)).ok());
    plan = WithTimes();
    plan.times->embed_us = never;
    EXPECT_FALSE(test::StatusOf<ParsePlan>(EncodePlan(plan)).ok());
  }
  const std::string json = PlanToJson(WithTimes());
  test::ExpectRefused(json, "\"layer_io_us\"", "\"l\"", "times: layer_io_us is missing",
                      test::StatusOf<ParsePlan>);
  test::ExpectRefused(json, "\"read_depth\": 4", "\"read_depth\": -4", "read_depth is not",
                      test::StatusOf<ParsePlan>);
  test::ExpectRefused(json, "\"cold\": false", "\"cold\": 0", "cold is not",
                      test::StatusOf<ParsePlan>);
}

TEST(PlanFile, TurnsHaveEveryPromisedField) {
  const auto json = nlohmann::json::parse(PlanToJson(WithTurns()));
  ASSERT_EQ(json["turns"].size(), 2u);
  for (const char* field :
       {"turn", "bits", "preload", "preload_bytes", "read_bytes", "aib_us", "predicted_latency_us",
        "predicted_p99_us", "predicted_loss", "predicted_accuracy"})
    EXPECT_TRUE(json["turns"][0].contains(field)) << field;
  EXPECT_EQ(json["turns"][1]["turn"], 2);
  EXPECT_TRUE(json["turns"][0]["aib_us"].is_null());
  EXPECT_EQ(json["turns"][1]["preload"][1]["bits"], 5);
}

TEST(PlanFile, TurnsNeverLoseBits) {
  EXPECT_TRUE(test::StatusOf<ParsePlan>(EncodePlan(WithTurns())).ok());
  test::ExpectDamageIsFound(EncodePlan(WithTurns()), test::StatusOf<ParsePlan>);
  const struct {
    void (*edit)(Plan&);
    const char* words;
  } cases[] = {
      {[](Plan& p) { p.turns[1].bits.At(0, 0) = 2, p.turns[1].bits.At(0, 1) = 5; },
       "turns[1]: layer 1 slice 1 has fewer bits than in the turn before"},
      {[](Plan& p) { p.turns[0].bits.At(0, 0) = 3; },
       "turns[0]: the first turn's bits are not the"},
      {[](Plan& p) { p.turns[1].bits.At(0, 0) = 7; }, "turns[1]: layer 1 slice 0: bits is not"},
      {[](Plan& p) { p.turns[1].preload[1].bits = 32; }, "turns[1]: preload: layer 1 slice 1 at"},
      {[](Plan& p) { p.turns[1].preload[1].bits = 1; }, "turns[1]: preload: layer 1 slice 1 at"},
      {[](Plan& p) { p.turns[1].preload[1].id.layer = 2; },
       "turns[1]: preload: layer 2 slice 1 at"},
      {[](Plan& p) { p.turns[1].preload[1].id.slice = 0; },
       "turns[1]: preload: layer 1 slice 0 at"},
      {[](Plan& p) { p.turns[1].preload_bytes = 100001; }, "turns[1]: preload_bytes is more than"},
      {[](Plan& p) { p.turns[1].aib_us.push_back(1); }, "turns[1]: aib_us does not have"},
      {[](Plan& p) { p.turns[1].predicted_p99_us = -1; }, "turns[1]: predicted_p99_us is negative"},
      {[](Plan& p) { p.wake_us = -1; }, "wake_us is negative"},
      {[](Plan& p) { p.turns.resize(65, p.turns[1]); }, "more than 64 turns"}};
  for (const auto& c : cases) {
    Plan plan = WithTurns();
    c.edit(plan);
    for (const Status& status : {test::StatusOf<ParsePlan>(EncodePlan(plan)),
                                 test::StatusOf<ParsePlan>(AsBytes(PlanToJson(plan)))}) {
      ASSERT_FALSE(status.ok()) << c.words;
      EXPECT_EQ(status.error().kind, ErrorKind::kDamaged);
      EXPECT_NE(status.error().Message().find(c.words), std::string::npos)
          << status.error().Message();
    }
  }
  Plan narrow = WithTurns();
  narrow.turns[1].bits = {{6}, {32}};
  EXPECT_FALSE(test::StatusOf<ParsePlan>(EncodePlan(narrow)).ok());
  EXPECT_FALSE(test::StatusOf<ParsePlan>(AsBytes(PlanToJson(narrow))).ok());
  test::ExpectRefused(PlanToJson(WithTurns()), "\"turn\": 2", "\"turn\": 3",
                      "turn does not count from 1", test::StatusOf<ParsePlan>);
}

TEST(PlanFile, VariantsAreServedByThePlansBuffer) {
  const struct {
    void (*edit)(Plan&);
    const char* words;
  } cases[] = {{[](Plan& p) { p.preload.clear(); },
                "variants[0]: preload: layer 1 slice 0 at 2 bits is not preloaded by the plan"},
               {[](Plan& p) { p.variants[0].bits.At(0, 0) = p.variants[0].preload[0].bits = 3; },
                "variants[0]: preload: layer 1 slice 0 at 3 bits is not preloaded by the plan"},
               {[](Plan& p) { p.variants[0].length = p.length; },
                "length, batch and freq are planned already"},
               {[](Plan& p) { p.variants.push_back(p.variants[0]); },
                "variants[1]: its length, batch and freq are"},
               {[](Plan& p) { p.variants[0].model.bytes[3] = 9; }, "it is for another model"}};
  for (const auto& c : cases) {
    Plan plan = WithVariant();
    c.edit(plan);
    for (const Status& status : {test::StatusOf<ParsePlan>(EncodePlan(plan)),
                                 test::StatusOf<ParsePlan>(AsBytes(PlanToJson(plan)))}) {
      ASSERT_FALSE(status.ok()) << c.words;
      EXPECT_NE(status.error().Message().find(c.words), std::string::npos)
          << status.error().Message();
    }
  }
  Plan clocks = WithVariant();
  clocks.variants[0].length = clocks.length;
  clocks.variants[0].freq = 1800000;
  clocks.variants[0].preload.clear();
  EXPECT_TRUE(test::StatusOf<ParsePlan>(EncodePlan(clocks)).ok());
}

TEST(PlanFile, AnObjectIsNoListOfRows) {
  auto json = nlohmann::ordered_json::parse(PlanToJson(ExamplePlan()));
  json["slices"] = {{"first", {0, 1}}, {"second", {0, 1}}};
  ASSERT_TRUE(json["slices"].is_object());
  EXPECT_TRUE(FailedWith(test::StatusOf<ParsePlan>(AsBytes(json.dump())), ErrorKind::kDamaged,
                         "slices is not a list of lists"));
}

TEST(PlanFile, HasAtMost64Variants) {
  Plan plan = ExamplePlan();
  plan.variants.assign(65, ExamplePlan());
  EXPECT_FALSE(test::StatusOf<ParsePlan>(EncodePlan(plan)).ok());
}

TEST(PlanFile, AStrategyOfNobodyKeepsItsText) {
  for (const char* name : {"", "by hand", "STI", "whole"}) {
    Plan plan = ExamplePlan();
    plan.strategy = ParseStrategy(name);
    if (plan.strategy == Strategy::kOther) plan.other_strategy = name;
    for (const auto& parsed :
         {ParsePlan(EncodePlan(plan), "a.file"), ParsePlan(AsBytes(PlanToJson(plan)), "a.file")}) {
      ASSERT_TRUE(parsed.ok()) << parsed.error().Message();
      EXPECT_EQ(parsed->strategy, plan.strategy);
      EXPECT_EQ(parsed->strategy_name(), name);
      EXPECT_EQ(EncodePlan(*parsed), EncodePlan(plan));
    }
  }
}

TEST(PlanFile, AnEditedPlanNeedsLittle) {
  const std::string text = R"({"model": "ab000000000000000000000000000000", "length": 64,
    "layers": [0], "width": 1, "slices": [[3]], "bits": [[4]]})";
  auto plan = ParsePlan(AsBytes(text), "a.file");
  ASSERT_TRUE(plan.ok()) << plan.error().Message();
  EXPECT_TRUE(plan->meets_target);
  EXPECT_FALSE(plan->target_us);
}

}  // namespace
}  // namespace sti
