// Rows of data sets with numbers made up, for evaluations and their gates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "score/evaluation.h"

namespace sti {

/// Returns a row that took so long where the pipeline's bound is 100 us.
inline AnsweredRow MakeRow(double latency_us) {
  AnsweredRow row;
  row.latency_us = latency_us;
  row.over_bound = latency_us / 100;
  return row;
}

/// Adds an example of label 1, which is given label 1 if it is right, 0 otherwise.
inline void Add(Evaluation& evaluation, const Judgement& judged, AnsweredRow row) {
  const uint32_t truth[] = {1};
  row.judged = judged;
  row.given = {judged.right ? 1U : 0U};
  evaluation.Add(truth, row);
}

/// Returns an evaluation of examples with these latencies, of which the first `right` are right.
inline Evaluation MakeEvaluation(uint64_t right, const std::vector<double>& latencies_us) {
  Evaluation evaluation;
  for (size_t i = 0; i < latencies_us.size(); ++i) {
    Add(evaluation, {i < right, 0.5}, MakeRow(latencies_us[i]));
  }
  return evaluation;
}

/// Returns an evaluation of `rows` rows, of which `lost` became wrong since its baseline.
inline Evaluation MakeFall(uint64_t rows, uint64_t lost, uint64_t gained) {
  Evaluation evaluation = MakeEvaluation(rows - lost, std::vector<double>(rows, 10));
  Baseline baseline{{}, std::vector<bool>(rows, true)};
  for (uint64_t i = 0; i < gained; ++i) baseline.right[i] = false;
  evaluation.compared = Compare(baseline, evaluation.right);
  return evaluation;
}

/// Returns a model of these labels, one an input.
inline ModelInfo MakeInfo(const std::vector<std::string>& labels) {
  ModelInfo info;
  info.labels = labels;
  return info;
}

}  // namespace sti
