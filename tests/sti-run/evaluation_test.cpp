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

// Returns an evaluation of examples with these latencies, of which the first `right` are right.
Evaluation MakeEvaluation(uint64_t right, const std::vector<double>& latencies_us) {
  Evaluation evaluation;
  for (size_t i = 0; i < latencies_us.size(); ++i) {
    evaluation.Add({i < right, 0.5}, MakeAnswer(latencies_us[i]));
  }
  return evaluation;
}

using Sentences = std::vector<std::string>;

TEST(Gates, AccuracyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(3, {10, 10, 10, 10});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.75, .max_p99_us = {}}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = std::nextafter(0.75, 1), .max_p99_us = {}}),
            Sentences{"accuracy 0.7500 is below --min-accuracy 0.7500"});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.8, .max_p99_us = {}}),
            Sentences{"accuracy 0.7500 is below --min-accuracy 0.8000"});
}

TEST(Gates, LatencyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(2, {2000, 1500});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = {}, .max_p99_us = 2000}), Sentences{});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = {}, .max_p99_us = 1500}),
            Sentences{"p99 latency 2.00 ms is above --max-p99 1.50 ms"});
}

TEST(Gates, LatencyIsJudgedByTheP99AndNotByTheSlowest) {
  std::vector<double> latencies_us(100, 10);
  latencies_us[50] = 5000;
  const Gates gates{.min_accuracy = {}, .max_p99_us = 10};
  EXPECT_EQ(FailedGates(MakeEvaluation(0, latencies_us), gates), Sentences{});
  latencies_us[51] = 5000;
  EXPECT_EQ(FailedGates(MakeEvaluation(0, latencies_us), gates),
            Sentences{"p99 latency 5.00 ms is above --max-p99 10 us"});
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
  evaluation.Add({true, 1}, answer);
  answer.deadline_met = false;
  answer.run.bytes_read = 2000;
  answer.run.degraded.resize(2);
  evaluation.Add({false, 2}, answer);
  EXPECT_EQ(evaluation.examples(), 2U);
  EXPECT_EQ(evaluation.accuracy(), 0.5);
  EXPECT_EQ(evaluation.loss.mean(), 1.5);
  EXPECT_EQ(evaluation.bytes_read.mean(), 1500);
  EXPECT_EQ(evaluation.deadline_misses, 1U);
  EXPECT_EQ(evaluation.degraded_inputs, 1U) << "an input counts once, however many shards";
  EXPECT_EQ(evaluation.stall_us.median(), 30);
  EXPECT_EQ(evaluation.over_bound.median(), 2);
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
  EXPECT_EQ(Json::parse(EvaluationToJson(evaluation)), Json::parse(R"({
    "examples": 4, "accuracy": 0.25, "mean_loss": 0.5,
    "latency_us": {"p50": 200.0, "p95": 400.0, "p99": 400.0, "max": 400.0},
    "deadline_misses": 0, "degraded_inputs": 0,
    "over_bound": {"p50": 2.0, "p99": 4.0}, "stall_us": {"p50": 0.0, "p99": 0.0},
    "bytes_read_per_input": 0.0, "preload_bytes": 5, "peak_rss_bytes": 6,
    "target_us": 350.0, "predicted_latency_us": 250.0, "predicted_p99_us": 450.0})"));
}

TEST(Evaluation, JsonHasNullForWhatThePlanDoesNotSay) {
  const Json json = Json::parse(EvaluationToJson(MakeEvaluation(1, {10})));
  for (const char* field : {"target_us", "predicted_latency_us", "predicted_p99_us"}) {
    EXPECT_TRUE(json.at(field).is_null()) << field;
  }
}

TEST(Evaluation, ALossThatIsNoNumberIsNullAndFailsNoGate) {
  Evaluation evaluation;
  evaluation.Add({true, std::numeric_limits<double>::quiet_NaN()}, MakeAnswer(10));
  EXPECT_TRUE(Json::parse(EvaluationToJson(evaluation)).at("mean_loss").is_null());
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 1, .max_p99_us = 10}), Sentences{});
}

}  // namespace
}  // namespace sti
