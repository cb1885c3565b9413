// An evaluation and its gates (lib/score) in words for people.
#pragma once

#include <string>

#include "score/evaluation.h"
#include "types/model_info.h"

namespace sti {

/// Returns a line for each number that says something, each with its end. `info` is the model's.
std::string DescribeEvaluation(const Evaluation& evaluation, const ModelInfo& info);

/// Returns why the evaluation does not pass a gate, as a sentence that names the gate's option.
/// `gate` is one of FailedGates.
std::string WhyFailed(Gate gate, const Evaluation& evaluation, const Gates& gates);

}  // namespace sti
