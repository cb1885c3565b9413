// An evaluation adds up answers, and its gates judge the sums; here both have numbers made up.
#include "sti-run/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace sti {
namespace {

using Json = nlohmann::json;

// Returns the answer of a pipeline without layers, whose bound is its head's 100 us.
Answer MakeAnswer(double latency_us) {
  Answer answer;
  answer.latency_us = latency_us;
  answer.run.latency_us = latency_us;
  answer.run.head_us = 100;
  return answer;
}

// Adds an example of label 1, which is given label 1 if it is right, 0 otherwise.
void Add(Evaluation& evaluation, const Judgement& judged, const Answer& answer) {
  const uint32_t labels[] = {0, 1};
  const std::span<const uint32_t> given(labels + (judged.right ? 1 : 0), 1);
  evaluation.Add(judged, std::span<const uint32_t>(labels + 1, 1), given, answer);
}

// Returns an evaluation of examples with these latencies, of which the first `right` are right.
Evaluation MakeEvaluation(uint64_t right, const std::vector<double>& latencies_us) {
  Evaluation evaluation;
  for (size_t i = 0; i < latencies_us.size(); ++i) {
    Add(evaluation, {i < right, 0.5}, MakeAnswer(latencies_us[i]));
  }
  return evaluation;
}

ModelInfo MakeInfo(const std::vector<std::string>& labels) {
  ModelInfo info;
  info.labels = labels;
  return info;
}

Json ToJson(const Evaluation& evaluation, const ModelInfo& info = MakeInfo({"no", "yes"})) {
  return Json::parse(EvaluationToJson(evaluation, info));
}

using Sentences = std::vector<std::string>;

TEST(Gates, AccuracyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(3, {10, 10, 10, 10});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.75}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = std::nextafter(0.75, 1)}),
            Sentences{"accuracy 0.7500 is below --min-accuracy 0.7500"});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.8}),
            Sentences{"accuracy 0.7500 is below --min-accuracy 0.8000"});
}

TEST(Gates, LatencyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(2, {2000, 1500});
  EXPECT_EQ(FailedGates(evaluation, {.max_p99_us = 2000}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.max_p99_us = 1500}),
            Sentences{"p99 latency 2.00 ms is above --max-p99 1.50 ms"});
}

TEST(Gates, LatencyIsJudgedByTheP99AndNotByTheSlowest) {
  std::vector<double> latencies_us(100, 10);
  latencies_us[50] = 5000;
  const Gates gates{.max_p99_us = 10};
  EXPECT_EQ(FailedGates(MakeEvaluation(0, latencies_us), gates), Sentences{});
  latencies_us[51] = 5000;
  EXPECT_EQ(FailedGates(MakeEvaluation(0, latencies_us), gates),
            Sentences{"p99 latency 5.00 ms is above --max-p99 10 us"});
}

TEST(Gates, MemoryMayReachItsGate) {
  Evaluation evaluation = MakeEvaluation(1, {10});
  evaluation.peak_rss_bytes = 3'000'000;
  EXPECT_EQ(FailedGates(evaluation, {.max_memory_bytes = 3'000'000}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.max_memory_bytes = 2'999'999}),
            Sentences{"peak memory 3.0 MB is above --max-memory 3.0 MB"});
}

TEST(Gates, BytesAreJudgedByTheirMean) {
  Evaluation evaluation;
  Answer answer = MakeAnswer(10);
  for (const uint64_t bytes : {1000, 4001}) {
    answer.run.bytes_read = bytes;
    Add(evaluation, {true, 0}, answer);
  }
  EXPECT_EQ(FailedGates(evaluation, {.max_input_bytes = 2501}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.max_input_bytes = 2500}),
            Sentences{"read an input 2.5 kB is above --max-bytes 2.5 kB"});
}

TEST(Gates, MissesMayReachTheirGate) {
  Evaluation evaluation = MakeEvaluation(1, {10});
  evaluation.deadline_misses = 3;
  EXPECT_EQ(FailedGates(evaluation, {.max_misses = 3}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.max_misses = 2}),
            Sentences{"3 inputs missed the target, above --max-misses 2"});
  evaluation.deadline_misses = 0;
  EXPECT_EQ(FailedGates(evaluation, {.max_misses = 0}), Sentences{});
}

// Returns an evaluation of `rows` rows, of which `lost` became wrong since its baseline.
Evaluation MakeFall(uint64_t rows, uint64_t lost, uint64_t gained) {
  Evaluation evaluation = MakeEvaluation(rows - lost, std::vector<double>(rows, 10));
  Baseline baseline{{}, std::vector<bool>(rows, true)};
  for (uint64_t i = 0; i < gained; ++i) baseline.right[i] = false;
  evaluation.compared = Compare(baseline, evaluation.right);
  return evaluation;
}

TEST(Gates, AccuracyMayFallByTheDrop) {
  for (const uint64_t rows : {200U, 600U, 1400U}) {  // 3 % of these is not exact in binary
    const uint64_t most = rows * 3 / 100;
    EXPECT_EQ(FailedGates(MakeFall(rows, most, 0), {.max_drop = 0.03}), Sentences{}) << rows;
    EXPECT_EQ(FailedGates(MakeFall(rows, most + 1, 0), {.max_drop = 0.03}).size(), 1U) << rows;
  }
  // As a double 0.29 times 100 is less than 29.
  EXPECT_EQ(FailedGates(MakeFall(100, 29, 0), {.max_drop = 0.29}), Sentences{});
  EXPECT_EQ(FailedGates(MakeFall(100, 20, 0), {.max_drop = 0.05}),
            Sentences{"accuracy 0.8000 is below the baseline's 1.0000 by more than --max-drop "
                      "0.0500, and not by chance (p 0.0000)"});
}

TEST(Gates, AFallThatMayBeChancePasses) {
  // One way only: five rows may be chance (p 0.0625), six not (0.03125).
  EXPECT_EQ(FailedGates(MakeFall(100, 5, 0), {.max_drop = 0}), Sentences{});
  EXPECT_EQ(FailedGates(MakeFall(100, 6, 0), {.max_drop = 0}).size(), 1U);
  EXPECT_EQ(FailedGates(MakeFall(100, 26, 20), {.max_drop = 0.01}), Sentences{});
}

TEST(Gates, ARiseBeyondChancePasses) {
  EXPECT_EQ(FailedGates(MakeFall(100, 0, 30), {.max_drop = 0}), Sentences{});
}

TEST(Gates, WithoutABaselineNothingFell) {
  EXPECT_EQ(FailedGates(MakeEvaluation(0, {10, 10}), {.max_drop = 0}), Sentences{});
  EXPECT_EQ(FailedGates(MakeFall(100, 20, 0), {}), Sentences{}) << "nor without its gate";
}

TEST(Gates, EachThatFailsIsSaid) {
  EXPECT_EQ(FailedGates(MakeEvaluation(0, {3}), {.min_accuracy = 0.5, .max_p99_us = 2}),
            (Sentences{"accuracy 0.0000 is below --min-accuracy 0.5000",
                       "p99 latency 3 us is above --max-p99 2 us"}));
}

TEST(Gates, WithoutGatesOrWithoutExamplesNoneFails) {
  EXPECT_EQ(FailedGates(MakeEvaluation(0, {1e9}), {}), Sentences{});
  EXPECT_EQ(FailedGates({}, {.min_accuracy = 1, .max_p99_us = 0}), Sentences{});
}

TEST(Evaluation, AddsUpAnswers) {
  Evaluation evaluation;
  Answer answer = MakeAnswer(200);
  answer.run.stall_us = 30;
  answer.run.bytes_read = 1000;
  answer.deadline_met = true;
  Add(evaluation, {true, 1}, answer);
  answer.deadline_met = false;
  answer.run.bytes_read = 2000;
  answer.run.degraded.resize(2);
  Add(evaluation, {false, 2}, answer);
  EXPECT_EQ(evaluation.examples(), 2U);
  EXPECT_EQ(evaluation.accuracy(), 0.5);
  EXPECT_EQ(evaluation.loss.mean(), 1.5);
  EXPECT_EQ(evaluation.bytes_read.mean(), 1500);
  EXPECT_EQ(evaluation.deadline_misses, 1U);
  EXPECT_EQ(evaluation.degraded_inputs, 1U) << "an input counts once, however many shards";
  EXPECT_EQ(evaluation.stall_us.median(), 30);
  EXPECT_EQ(evaluation.over_bound.median(), 2);
}

TEST(Evaluation, CountsWhatEachCascadeLevelAnswers) {
  Plan plan;
  EXPECT_EQ(CascadeTallyOf(plan), std::nullopt);
  plan.cascade.emplace();
  plan.cascade->return_share = {0.75};
  plan.cascade->mean_us = 250;
  Evaluation evaluation;
  evaluation.cascade = CascadeTallyOf(plan);
  Answer answer = MakeAnswer(100);
  answer.run.bytes_read = 1000;
  answer.cascade.emplace();
  answer.cascade->returned = Returned::kEarly;
  Add(evaluation, {true, 1}, answer);
  answer.cascade->returned = Returned::kDeadline;
  Add(evaluation, {false, 1}, answer);
  answer.cascade->returned = Returned::kFinal;
  answer.cascade->level = 2;
  answer.cascade->words_pruned = 3;
  CascadeLevelRun& before = answer.cascade->runs[0];
  before.run.bytes_read = 500;
  before.run.latency_us = before.run.head_us = 100;
  answer.run.latency_us = 300;
  answer.latency_us = 400;
  Add(evaluation, {true, 1}, answer);
  EXPECT_EQ(evaluation.bytes_read.mean(), 3500.0 / 3);
  EXPECT_EQ(evaluation.over_bound.Quantile(1), 2) << "400 us of both levels, whose bound is 200";
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
  EXPECT_FALSE(ToJson(MakeEvaluation(1, {10})).contains("cascade"));
}

TEST(Evaluation, AnAnswerWithoutTargetMissesNone) {
  EXPECT_EQ(MakeEvaluation(0, {10, 20}).deadline_misses, 0U);
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
  Add(evaluation, {true, 0.5}, MakeAnswer(200));
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

TEST(Evaluation, ALossThatIsNoNumberIsNullAndFailsNoGate) {
  Evaluation evaluation;
  Add(evaluation, {true, std::numeric_limits<double>::quiet_NaN()}, MakeAnswer(10));
  EXPECT_TRUE(ToJson(evaluation).at("mean_loss").is_null());
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 1, .max_p99_us = 10}), Sentences{});
}

}  // namespace
}  // namespace sti
