#include "network/layer_program.h"

#include <algorithm>

namespace sti {
namespace {

using enum LayerValue;
using enum TensorRole;

constexpr LayerStep kEncoderLayer[] = {
    LinearStep{kValueWeight, kValueBias, kInput, kValues},
    LinearStep{kKeyWeight, kKeyBias, kInput, kKeys},
    LinearStep{kQueryWeight, kQueryBias, kInput, kQueries},
    AttendStep{kQueries, kKeys, kValues, kContext},
    LinearStep{kOutputWeight, kOutputBias, kContext, kAttentionSum},
    AddStep{kInput, kAttentionSum},
    NormStep{kAttentionNormWeight, kAttentionNormBias, kAttentionSum, kAttended},
    LinearStep{kFfn1Weight, kFfn1Bias, kAttended, kInner},
    ActivateStep{kInner, kActive},
    LinearStep{kFfn2Weight, kFfn2Bias, kActive, kOutputSum},
    AddStep{kAttended, kOutputSum},
    NormStep{kOutputNormWeight, kOutputNormBias, kOutputSum, kOutput},
};

constexpr LayerStep kLayerOfNormsBefore[] = {
    NormStep{kAttentionNormWeight, kAttentionNormBias, kInput, kNormed},
    LinearStep{kValueWeight, kValueBias, kNormed, kValues},
    LinearStep{kKeyWeight, kKeyBias, kNormed, kKeys},
    LinearStep{kQueryWeight, kQueryBias, kNormed, kQueries},
    AttendStep{kQueries, kKeys, kValues, kContext},
    LinearStep{kOutputWeight, kOutputBias, kContext, kAttentionSum},
    AddStep{kAttentionSum, kInput},
    NormStep{kOutputNormWeight, kOutputNormBias, kInput, kAttended},
    LinearStep{kFfn1Weight, kFfn1Bias, kAttended, kInner},
    ActivateStep{kInner, kActive},
    LinearStep{kFfn2Weight, kFfn2Bias, kActive, kOutputSum},
    AddStep{kOutputSum, kInput},
};

// Returns how many steps the first piece of a program has.
size_t ContextLength(LayerProgram program) {
  const auto attends = [](const LayerStep& step) {
    return std::holds_alternative<AttendStep>(step);
  };
  return static_cast<size_t>(std::ranges::find_if(program, attends) - program.begin()) + 1;
}

bool TakesIn(const AttendStep& step, LayerValue value) {
  return value == step.queries || value == step.keys || value == step.values;
}
bool TakesIn(const auto& step, LayerValue value) { return value == step.in; }

}  // namespace

LayerProgram EncoderLayer() { return kEncoderLayer; }

LayerProgram LayerOf(const ModelShape& shape) {
  return shape.norm_before ? LayerProgram(kLayerOfNormsBefore) : EncoderLayer();
}

LayerProgram ContextSteps(LayerProgram program) { return program.first(ContextLength(program)); }
LayerProgram FinishSteps(LayerProgram program) { return program.subspan(ContextLength(program)); }

ByValue<uint64_t> WidthsOf(LayerProgram program, const ModelShape& shape) {
  ByValue<uint64_t> widths;
  widths[kInput] = shape.hidden;
  for (const LayerStep& step : program) {
    uint64_t& width = widths[WrittenBy(step)];
    if (const auto* linear = std::get_if<LinearStep>(&step)) {
      width = SizeOf(SpecOf(linear->weight), shape).rows;
      continue;
    }
    // A row of any other kind's output is as wide as those that the step reads.
    for (const LayerValue value : kLayerValues) {
      if (Reads(step, value)) width = widths[value];
    }
  }
  return widths;
}

bool Reads(const LayerStep& step, LayerValue value) {
  return std::visit([&](const auto& it) { return TakesIn(it, value); }, step);
}

LayerValue WrittenBy(const LayerStep& step) {
  return std::visit([](const auto& it) { return it.out; }, step);
}

bool IsOfAllRows(LayerProgram program, LayerValue value) {
  for (; !program.empty(); program = program.subspan(1)) {
    const LayerStep& step = program.front();
    const auto* attend = std::get_if<AttendStep>(&step);
    if (attend != nullptr && (value == attend->keys || value == attend->values)) return true;
    if (attend != nullptr || !Reads(step, value) || WrittenBy(step) == value) continue;
    // The values that such a value is made from are wanted of all rows too.
    if (IsOfAllRows(program.subspan(1), WrittenBy(step))) return true;
  }
  return false;
}

}  // namespace sti
