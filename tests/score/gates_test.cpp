// Gates judge evaluations; here these have numbers made up.
#include "score/gates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "score/rows.h"

namespace sti {
namespace {

const std::vector<Gate> kNone;

std::vector<Gate> Only(Gate gate) { return {gate}; }

TEST(Gates, AccuracyMayReachItsGate) {
  const Evaluation evaluation = MakeEvaluation(3, {10, 10, 10, 10});
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.75}), kNone);
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = std::nextafter(0.75, 1)}),
            Only(Gate::kAccuracy));
  EXPECT_EQ(FailedGates(evaluation, {.min_accuracy = 0.8}), Only(Gate::kAccuracy));
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
