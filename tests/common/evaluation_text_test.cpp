// The words for an evaluation and for gates that it does not pass; the numbers are made up.
#include "common/evaluation_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "score/rows.h"

namespace sti {
namespace {

using Sentences = std::vector<std::string>;

Sentences WhyAll(const Evaluation& evaluation, const Gates& gates) {
  Sentences sentences;
  for (const Gate gate : FailedGates(evaluation, gates)) {
    sentences.push_back(WhyFailed(gate, evaluation, gates));
  }
  return sentences;
}

TEST(GateText, NamesTheNumberTheBoundAndTheOption) {
  const Evaluation right = MakeEvaluation(3, {10, 10, 10, 10});
  EXPECT_EQ(WhyAll(right, {.min_accuracy = std::nextafter(0.75, 1)}),
            Sentences{"accuracy 0.7500 is below --min-accuracy 0.7500"});
  EXPECT_EQ(WhyAll(right, {.min_accuracy = 0.8}),
            Sentences{"accuracy 0.7500 is below --min-accuracy 0.8000"});
  EXPECT_EQ(WhyAll(MakeEvaluation(2, {2000, 1500}), {.max_p99_us = 1500}),
            Sentences{"p99 latency 2.00 ms is above --max-p99 1.50 ms"});
  std::vector<double> latencies_us(100, 10);
  latencies_us[50] = latencies_us[51] = 5000;
  EXPECT_EQ(WhyAll(MakeEvaluation(0, latencies_us), {.max_p99_us = 10}),
            Sentences{"p99 latency 5.00 ms is above --max-p99 10 us"});
  Evaluation evaluation;
  for (const uint64_t bytes : {1000, 4001}) {
    AnsweredRow row = MakeRow(10);
    row.bytes_read = bytes;
    Add(evaluation, {true, 0}, row);
  }
  evaluation.peak_rss_bytes = 3'000'000;
  evaluation.deadline_misses = 3;
  EXPECT_EQ(WhyAll(evaluation, {.max_memory_bytes = 2'999'999}),
            Sentences{"peak memory 3.0 MB is above --max-memory 3.0 MB"});
  EXPECT_EQ(WhyAll(evaluation, {.max_input_bytes = 2500}),
            Sentences{"read an input 2.5 kB is above --max-bytes 2.5 kB"});
  EXPECT_EQ(WhyAll(evaluation, {.max_misses = 2}),
            Sentences{"3 inputs missed the target, above --max-misses 2"});
  EXPECT_EQ(WhyAll(MakeFall(100, 20, 0), {.max_drop = 0.05}),
            Sentences{"accuracy 0.8000 is below the baseline's 1.0000 by more than --max-drop "
                      "0.0500, and not by chance (p 0.0000)"});
}

TEST(GateText, EachThatFailsIsSaid) {
  EXPECT_EQ(WhyAll(MakeEvaluation(0, {3}), {.min_accuracy = 0.5, .max_p99_us = 2}),
            (Sentences{"accuracy 0.0000 is below --min-accuracy 0.5000",
                       "p99 latency 3 us is above --max-p99 2 us"}));
}

TEST(EvaluationText, ALineForEachNumber) {
  Evaluation evaluation = MakeFall(4, 1, 2);
  evaluation.target_us = 5;
  evaluation.predicted_latency_us = 2;
  evaluation.predicted_p99_us = 3;
  evaluation.peak_rss_bytes = 3'000'000;
  evaluation.preload_bytes = 2500;
  const std::vector<uint32_t> truth = {1};
  evaluation.AddUnanswered(truth, "overflows");
  EXPECT_EQ(DescribeEvaluation(evaluation, MakeInfo({"no", "yes"})),
            "accuracy        60.00 % of 5, within 23.07 and 88.24 % at 95 % confidence\n"
            "F1              macro 0.3750, positive 0.7500\n"
            "unanswered      1 inputs, which count as wrong\n"
            "baseline        40.00 %, since then 2 gained, 1 lost, p 1.0000\n"
            "mean loss       0.5000\n"
            "latency         median 10 us, p95 10 us, p99 10 us, max 10 us\n"
            "predicted       median 2 us, p99 3 us\n"
            "target          5 us, missed 0 times\n"
            "stalled         median 0 us\n"
            "read an input   0 B\n"
            "memory          peak 3.0 MB, 2.5 kB of it preloaded shards\n");
}

TEST(EvaluationText, OfPairsIsTheirCorrelation) {
  Evaluation evaluation;
  evaluation.pairs.emplace();
  evaluation.AddPair(1, 0.5, MakeRow(10), MakeRow(20));
  const std::string alone = DescribeEvaluation(evaluation, MakeInfo({}));
  EXPECT_TRUE(alone.starts_with("Spearman        none: all cosines or all scores are equal\n"))
      << alone;
  evaluation.AddPair(2, 0.25, MakeRow(10), MakeRow(20));
  evaluation.AddUnansweredPair("overflows");
  EXPECT_EQ(DescribeEvaluation(evaluation, MakeInfo({})),
            "Spearman        -1.0000 of 2 pairs, standard error 0.0000\n"
            "unanswered      1 pair, which count for nothing\n"
            "latency         median 10 us, p95 20 us, p99 20 us, max 20 us\n"
            "stalled         median 0 us\n"
            "read an input   0 B\n"
            "memory          peak 0 B, 0 B of it preloaded shards\n");
  EXPECT_EQ(WhyAll(evaluation, {.min_accuracy = 0.5}),
            Sentences{"Spearman -1.0000 is below --min-accuracy 0.5000"});
}

TEST(EvaluationText, ALineForEachCascadeLevel) {
  Evaluation evaluation;
  evaluation.cascade.emplace();
  evaluation.cascade->levels = {{.predicted_share = 0.75}, {.predicted_share = 0.25}};
  evaluation.cascade->mean_us = 250;
  AnsweredRow row = MakeRow(100);
  row.guaranteed = true;
  row.cascade = CascadeRow{.for_want_of_time = true, .words_pruned = 3};
  Add(evaluation, {true, 0}, row);
  Add(evaluation, {false, 0}, row);
  const std::string text = DescribeEvaluation(evaluation, MakeInfo({"a", "b", "c"}));
  EXPECT_NE(text.find("fallback        0 inputs, 0 words unknown\n"), std::string::npos) << text;
  EXPECT_NE(text.find("level 1         answers 100.0 % of inputs, 75.0 % predicted; 50.00 % right\n"
                      "level 2         answers 0.0 % of inputs, 25.0 % predicted\n"
                      "out of time     2 inputs had no time for the next level\n"
                      "words pruned    6\n"
                      "mean latency    100 us, predicted 250 us\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace sti
