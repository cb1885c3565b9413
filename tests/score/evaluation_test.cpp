// An evaluation adds up rows; here they have numbers made up.

#include "score/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "score/rows.h"

namespace sti {
namespace {

using Json = nlohmann::json;

Json ToJson(const Evaluation& evaluation, const ModelInfo& info = MakeInfo({"no", "yes"})) {
  return Json::parse(EvaluationToJson(evaluation, info));
}

TEST(Evaluation, AddsUpRows) {
  Evaluation evaluation;
  AnsweredRow row = MakeRow(200);
  row.stall_us = 30;
  row.bytes_read = 1000;
  Add(evaluation, {true, 1}, row);
  row.late = true;
  row.bytes_read = 2000;
  row.degraded = true;
  Add(evaluation, {false, 2}, row);
  EXPECT_EQ(evaluation.examples(), 2U);
  EXPECT_EQ(evaluation.accuracy(), 0.5);
  EXPECT_EQ(evaluation.loss.mean(), 1.5);
  EXPECT_EQ(evaluation.bytes_read.mean(), 1500);
  EXPECT_EQ(evaluation.deadline_misses, 1U);
  EXPECT_EQ(evaluation.degraded_inputs, 1U);
  EXPECT_EQ(evaluation.stall_us.median(), 30);
  EXPECT_EQ(evaluation.over_bound.median(), 2);
  EXPECT_FALSE(ToJson(evaluation).contains("fallback")) << "no plan has one";
}

TEST(Evaluation, CountsWhatFallbacksAnswer) {
  Evaluation evaluation;
  AnsweredRow row = MakeRow(200);
  row.guaranteed = true;
  Add(evaluation, {true, 1}, row);
  row.fallback_rows_missing = 3;
  Add(evaluation, {true, 1}, row);
  row.fallback_rows_missing = 0;
  Add(evaluation, {true, 1}, row);
  EXPECT_EQ(ToJson(evaluation)["fallback"], 2);
  EXPECT_EQ(ToJson(evaluation)["rows_missing"], 3);
}

TEST(Evaluation, CountsWhatEachCascadeLevelAnswers) {
  Plan plan;
  EXPECT_EQ(CascadeTallyOf(plan), std::nullopt);
  plan.cascade.emplace();
  plan.cascade->return_share = {0.75};
  plan.cascade->mean_us = 250;
  Evaluation evaluation;
  evaluation.cascade = CascadeTallyOf(plan);
  AnsweredRow row = MakeRow(100);
  row.cascade = CascadeRow{.level = 1};
  Add(evaluation, {true, 1}, row);
  row.cascade->for_want_of_time = true;
  Add(evaluation, {false, 1}, row);
  row = MakeRow(400);
  row.cascade = CascadeRow{.level = 2, .words_pruned = 3};
  Add(evaluation, {true, 1}, row);
  const Json cascade = ToJson(evaluation)["cascade"];
  EXPECT_EQ(cascade["levels"][0],
            Json::parse(R"({"level": 1, "answers": 2, "share": 0.6666666666666666,
      "predicted_share": 0.75, "accuracy": 0.5})"));
  EXPECT_EQ(cascade["levels"][1],
            Json::parse(R"({"level": 2, "answers": 1, "share": 0.3333333333333333,
      "predicted_share": 0.25, "accuracy": 1.0})"));
  EXPECT_EQ(cascade["deadline_returns"], 1);
  EXPECT_EQ(cascade["words_pruned"], 3);
  EXPECT_EQ(cascade["mean_latency_us"], 200);
  EXPECT_EQ(cascade["predicted_mean_us"], 250);
  const std::vector<uint32_t> truth = {1};
  evaluation.AddUnanswered(truth, "overflows");
  EXPECT_EQ(ToJson(evaluation)["cascade"], cascade) << "a row that no level answered";
  EXPECT_FALSE(ToJson(MakeEvaluation(1, {10})).contains("cascade"));
}

// Cosines of which the second and the third have changed places against the scores.
Evaluation MakePairs() {
  Evaluation evaluation;
  evaluation.pairs.emplace();
  const double cosines[] = {0.1, 0.5, 0.3, 0.9};
  for (size_t i = 0; i < 4; ++i) {
    const auto score = static_cast<double>(i);
    evaluation.AddPair(score, cosines[i], MakeRow(100), MakeRow(300));
  }
  return evaluation;
}

TEST(Evaluation, OfPairsIsARankCorrelationAndTheTimesOfBothTexts) {
  Evaluation evaluation = MakePairs();
  EXPECT_EQ(evaluation.examples(), 4U);
  EXPECT_EQ(evaluation.latency_us.count(), 8U);
  EXPECT_EQ(evaluation.latency_us.median(), 100);
  EXPECT_NEAR(*evaluation.pairs->spearman(), 0.8, 1e-12);
  EXPECT_NEAR(evaluation.quality(), 0.8, 1e-12);
  evaluation.AddUnansweredPair("overflows");
  EXPECT_EQ(evaluation.examples(), 5U);
  EXPECT_EQ(evaluation.answers(), 4U);
  const Json json = ToJson(evaluation, MakeInfo({}));
  EXPECT_EQ(json.at("examples"), 5);
  EXPECT_NEAR(json.at("spearman").get<double>(), 0.8, 1e-12);
  EXPECT_EQ(json.at("standard_error"), evaluation.pairs->standard_error());
  EXPECT_EQ(json.at("errors"), Json::parse(R"([{"row": 5, "error": "overflows"}])"));
  EXPECT_EQ(json.at("latency_us").at("max"), 300);
  for (const char* of_labels : {"accuracy", "mean_loss", "classes", "correct_bits", "baseline"})
    EXPECT_FALSE(json.contains(of_labels)) << of_labels;
}

TEST(Evaluation, OfPairsThatAreAllAlikeIsNoCorrelation) {
  Evaluation evaluation;
  evaluation.pairs.emplace();
  EXPECT_EQ(evaluation.examples(), 0U);
  for (const double score : {1.0, 2.0, 3.0}) evaluation.AddPair(score, 0.5, {}, {});
  EXPECT_EQ(evaluation.quality(), 0);
  EXPECT_TRUE(ToJson(evaluation, MakeInfo({})).at("spearman").is_null());
}

TEST(Evaluation, WithoutExamplesItsAccuracyIsZero) { EXPECT_EQ(Evaluation{}.accuracy(), 0); }

TEST(Evaluation, JsonHasEachNumberUnderItsName) {
  Evaluation evaluation = MakeEvaluation(1, {400, 100, 300, 200});
  evaluation.preload_bytes = 5;
  evaluation.peak_rss_bytes = 6;
  evaluation.target_us = 350;
  evaluation.predicted_latency_us = 250;
  evaluation.predicted_p99_us = 450;
  evaluation.rows.bytes[15] = 7;
  Json json = ToJson(evaluation);
  const Json interval = json.at("accuracy_interval");
  EXPECT_NEAR(interval.at(0).get<double>(), 0.0456, 0.0001);
  EXPECT_NEAR(interval.at(1).get<double>(), 0.6994, 0.0001);
  json.erase("accuracy_interval");
  EXPECT_EQ(json, Json::parse(R"({
    "examples": 4, "accuracy": 0.25, "mean_loss": 0.5,
    "latency_us": {"p50": 200.0, "p95": 400.0, "p99": 400.0, "max": 400.0},
    "deadline_misses": 0, "degraded_inputs": 0,
    "over_bound": {"p50": 2.0, "p99": 4.0}, "stall_us": {"p50": 0.0, "p99": 0.0},
    "bytes_read_per_input": 0.0, "preload_bytes": 5, "peak_rss_bytes": 6,
    "target_us": 350.0, "predicted_latency_us": 250.0, "predicted_p99_us": 450.0,
    "macro_f1": 0.2, "positive_f1": 0.4, "unanswered": 0, "errors": [],
    "classes": {"no": {"examples": 0, "given": 3, "right": 0, "unanswered": 0, "f1": 0.0},
                "yes": {"examples": 4, "given": 1, "right": 1, "unanswered": 0, "f1": 0.4}},
    "confusion": {"yes": {"no": 3, "yes": 1}}, "baseline": null,
    "rows_digest": "00000000000000000000000000000007", "correct_bits": "8"})"));
}

TEST(Evaluation, ARowWithoutAnAnswerIsWrongAndTookNoTime) {
  Evaluation evaluation = MakeEvaluation(1, {400});
  const std::vector<uint32_t> truth = {1};
  evaluation.AddUnanswered(truth, "overflows");
  Add(evaluation, {true, 0.5}, MakeRow(200));
  EXPECT_EQ(evaluation.examples(), 3U);
  EXPECT_EQ(evaluation.answers(), 2U);
  const Json json = ToJson(evaluation);
  EXPECT_EQ(json.at("accuracy"), 2.0 / 3);
  EXPECT_EQ(json.at("correct_bits"), "a");
  EXPECT_EQ(json.at("unanswered"), 1);
  EXPECT_EQ(json.at("errors"), Json::parse(R"([{"row": 2, "error": "overflows"}])"));
  EXPECT_EQ(json.at("confusion"), Json::parse(R"({"yes": {"yes": 2}})"));
  EXPECT_EQ(json.at("classes"), Json::parse(R"({"yes": {"examples": 3, "given": 2, "right": 2,
                                                       "unanswered": 1, "f1": 0.8}})"));
  EXPECT_EQ(json.at("latency_us").at("max"), 400);
  EXPECT_EQ(json.at("mean_loss"), 0.5);
}

TEST(Evaluation, WithoutAnAnswerNothingIsMeasured) {
  Evaluation evaluation;
  evaluation.AddUnanswered({}, "overflows");
  const Json json = ToJson(evaluation);
  EXPECT_EQ(json.at("examples"), 1);
  EXPECT_EQ(json.at("accuracy"), 0);
  for (const char* field : {"mean_loss", "bytes_read_per_input"}) {
    EXPECT_TRUE(json.at(field).is_null()) << field;
  }
  EXPECT_EQ(json.at("latency_us"),
            Json::parse(R"({"p50": null, "p95": null, "p99": null, "max": null})"));
  EXPECT_EQ(json.at("stall_us"), Json::parse(R"({"p50": null, "p99": null})"));
  EXPECT_EQ(json.at("over_bound"), Json::parse(R"({"p50": null, "p99": null})"));
}

TEST(Evaluation, JsonSaysWhatChangedSinceTheBaseline) {
  EXPECT_EQ(ToJson(MakeFall(4, 1, 2)).at("baseline"),
            Json::parse(R"({"accuracy": 0.5, "gained": 2, "lost": 1, "p_value": 1.0})"));
}

TEST(Evaluation, OnlyOneOfTwoLabelsIsThePositiveOne) {
  const Evaluation evaluation = MakeEvaluation(1, {10, 10});
  EXPECT_TRUE(ToJson(evaluation, MakeInfo({"a", "b", "c"})).at("positive_f1").is_null());
  ModelInfo sets = MakeInfo({"a", "b"});
  sets.problem = Problem::kMultiLabel;
  EXPECT_TRUE(ToJson(evaluation, sets).at("positive_f1").is_null());
  EXPECT_TRUE(ToJson(evaluation, sets).at("confusion").is_null());
  EXPECT_EQ(ToJson(evaluation, sets).at("classes").size(), 2U);
}

TEST(Evaluation, ALabelOfAnyBytesIsJson) {
  const Json json = ToJson(MakeEvaluation(1, {10}), MakeInfo({"no", "\xFF"}));
  EXPECT_TRUE(json.at("classes").contains("\uFFFD"));
}

TEST(Evaluation, JsonHasNullForWhatThePlanDoesNotSay) {
  const Json json = ToJson(MakeEvaluation(1, {10}));
  for (const char* field : {"target_us", "predicted_latency_us", "predicted_p99_us"}) {
    EXPECT_TRUE(json.at(field).is_null()) << field;
  }
}

TEST(Evaluation, ALossThatIsNoNumberIsNull) {
  Evaluation evaluation;
  Add(evaluation, {true, std::numeric_limits<double>::quiet_NaN()}, MakeRow(10));
  EXPECT_TRUE(ToJson(evaluation).at("mean_loss").is_null());
}

const std::vector<Gate> kNone;

std::vector<Gate> Only(Gate gate) { return {gate}; }

TEST(Gates, AccuracyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(3, {10, 10, 10, 10});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.75}), kNone);
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = std::nextafter(0.75, 1)}),
            Only(Gate::kAccuracy));
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.8}), Only(Gate::kAccuracy));
}

TEST(Gates, TheLeastAccuracyOfPairsIsTheirCorrelation) {
  EXPECT_EQ(FailedGates(MakePairs(), {.min_accuracy = 0.79}), kNone);
  EXPECT_EQ(FailedGates(MakePairs(), {.min_accuracy = 0.81}), Only(Gate::kAccuracy));
}

TEST(Gates, LatencyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(2, {2000, 1500});
  EXPECT_EQ(FailedGates(evaluation, {.max_p99_us = 2000}), kNone);
  EXPECT_EQ(FailedGates(evaluation, {.max_p99_us = 1500}), Only(Gate::kP99));
}

TEST(Gates, LatencyIsJudgedByTheP99AndNotByTheSlowest) {
  std::vector<double> latencies_us(100, 10);
  latencies_us[50] = 5000;
  const Gates gates{.max_p99_us = 10};
  EXPECT_EQ(FailedGates(MakeEvaluation(0, latencies_us), gates), kNone);
  latencies_us[51] = 5000;
  EXPECT_EQ(FailedGates(MakeEvaluation(0, latencies_us), gates), Only(Gate::kP99));
}

TEST(Gates, MemoryMayReachItsGate) {
  Evaluation evaluation = MakeEvaluation(1, {10});
  evaluation.peak_rss_bytes = 3'000'000;
  EXPECT_EQ(FailedGates(evaluation, {.max_memory_bytes = 3'000'000}), kNone);
  EXPECT_EQ(FailedGates(evaluation, {.max_memory_bytes = 2'999'999}), Only(Gate::kMemory));
}

TEST(Gates, BytesAreJudgedByTheirMean) {
  Evaluation evaluation;
  AnsweredRow row = MakeRow(10);
  for (const uint64_t bytes : {1000, 4001}) {
    row.bytes_read = bytes;
    Add(evaluation, {true, 0}, row);
  }
  EXPECT_EQ(FailedGates(evaluation, {.max_input_bytes = 2501}), kNone);
  EXPECT_EQ(FailedGates(evaluation, {.max_input_bytes = 2500}), Only(Gate::kInputBytes));
}

TEST(Gates, MissesMayReachTheirGate) {
  Evaluation evaluation = MakeEvaluation(1, {10});
  evaluation.deadline_misses = 3;
  EXPECT_EQ(FailedGates(evaluation, {.max_misses = 3}), kNone);
  EXPECT_EQ(FailedGates(evaluation, {.max_misses = 2}), Only(Gate::kMisses));
  evaluation.deadline_misses = 0;
  EXPECT_EQ(FailedGates(evaluation, {.max_misses = 0}), kNone);
}

TEST(Gates, AccuracyMayFallByTheDrop) {
  for (const uint64_t rows : {200U, 600U, 1400U}) {  // 3 % of these is not exact in binary
    const uint64_t most = rows * 3 / 100;
    EXPECT_EQ(FailedGates(MakeFall(rows, most, 0), {.max_drop = 0.03}), kNone) << rows;
    EXPECT_EQ(FailedGates(MakeFall(rows, most + 1, 0), {.max_drop = 0.03}).size(), 1U) << rows;
  }
  // As a double 0.29 times 100 is less than 29.
  EXPECT_EQ(FailedGates(MakeFall(100, 29, 0), {.max_drop = 0.29}), kNone);
  EXPECT_EQ(FailedGates(MakeFall(100, 20, 0), {.max_drop = 0.05}), Only(Gate::kDrop));
}

TEST(Gates, AFallThatMayBeChancePasses) {
  // One way only: five rows may be chance (p 0.0625), six not (0.03125).
  EXPECT_EQ(FailedGates(MakeFall(100, 5, 0), {.max_drop = 0}), kNone);
  EXPECT_EQ(FailedGates(MakeFall(100, 6, 0), {.max_drop = 0}).size(), 1U);
  EXPECT_EQ(FailedGates(MakeFall(100, 26, 20), {.max_drop = 0.01}), kNone);
}

TEST(Gates, ARiseBeyondChancePasses) {
  EXPECT_EQ(FailedGates(MakeFall(100, 0, 30), {.max_drop = 0}), kNone);
}

TEST(Gates, WithoutABaselineNothingFell) {
  EXPECT_EQ(FailedGates(MakeEvaluation(0, {10, 10}), {.max_drop = 0}), kNone);
  EXPECT_EQ(FailedGates(MakeFall(100, 20, 0), {}), kNone) << "nor without its gate";
}

TEST(Gates, EachThatFailsIsNamed) {
  EXPECT_EQ(FailedGates(MakeEvaluation(0, {3}), {.min_accuracy = 0.5, .max_p99_us = 2}),
            (std::vector<Gate>{Gate::kAccuracy, Gate::kP99}));
}

TEST(Gates, WithoutGatesOrWithoutExampleskNoneFails) {
  EXPECT_EQ(FailedGates(MakeEvaluation(0, {1e9}), {}), kNone);
  EXPECT_EQ(FailedGates({}, {.min_accuracy = 1, .max_p99_us = 0}), kNone);
}

TEST(Gates, ALossThatIsNoNumberFailsNone) {
  Evaluation evaluation;
  Add(evaluation, {true, std::numeric_limits<double>::quiet_NaN()}, MakeRow(10));
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 1, .max_p99_us = 10}), kNone);
}

}  // namespace

}  // namespace sti
