#include "network/layer_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sti {
namespace {

using enum LayerValue;

// Returns the parameters that a step multiplies with or adds; none of most kinds.
std::vector<TensorRole> ParametersOf(const LayerStep& step) {
  if (const auto* linear = std::get_if<LinearStep>(&step)) return {linear->weight, linear->bias};
  if (const auto* norm = std::get_if<NormStep>(&step)) return {norm->weight, norm->bias};
  return {};
}

/// The program of BERT's layers, and that of layers with their norms in front.
class LayerProgramTest : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] static LayerProgram Program() { return LayerOf({.norm_before = GetParam()}); }
};

TEST_P(LayerProgramTest, UsesEveryTensorOfALayerOnce) {
  std::multiset<TensorRole> used;
  for (const LayerStep& step : Program()) {
    for (const TensorRole role : ParametersOf(step)) used.insert(role);
  }
  std::multiset<TensorRole> all;
  for (const TensorSpec& tensor : kTensors) {
    if (IsOfLayer(tensor)) all.insert(tensor.role);
  }
  EXPECT_EQ(used, all);
}

TEST_P(LayerProgramTest, WritesEachValueBeforeItIsRead) {
  std::set<LayerValue> written = {kInput};
  std::set<LayerValue> read;
  for (const LayerStep& step : Program()) {
    for (const LayerValue value : kLayerValues) {
      if (!Reads(step, value)) continue;
      EXPECT_TRUE(written.contains(value)) << static_cast<int>(value);
      read.insert(value);
    }
    const LayerValue out = WrittenBy(step);
    EXPECT_TRUE(!read.contains(out) || out == kInput);
    EXPECT_EQ(written.insert(out).second, !std::holds_alternative<AddStep>(step));
  }
}

TEST_P(LayerProgramTest, IsTwoPiecesThatMeetAtTheContext) {
  const LayerProgram program = Program();
  const LayerProgram first = ContextSteps(program);
  const LayerProgram second = FinishSteps(program);
  EXPECT_EQ(first.size() + second.size(), program.size());
  EXPECT_EQ(first.data(), program.data());
  EXPECT_EQ(WrittenBy(first.back()), kContext);
  for (const LayerStep& step : first) EXPECT_NE(WrittenBy(step), kInput);
  for (const LayerStep& step : second) {
    EXPECT_FALSE(std::ranges::any_of(first, [&](const LayerStep& before) {
      const LayerValue value = WrittenBy(before);
      return value != kContext && Reads(step, value);
    }));
  }
}

TEST_P(LayerProgramTest, WantsAllRowsOfWhatAttentionLooksAt) {
  std::set<LayerValue> of_all = {kInput, kKeys, kValues};
  if (GetParam()) of_all.insert(kNormed);
  for (const LayerValue value : kLayerValues) {
    EXPECT_EQ(IsOfAllRows(Program(), value), of_all.contains(value)) << static_cast<int>(value);
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, LayerProgramTest, ::testing::Bool(),
                         [](const auto& tried) { return tried.param ? "InFront" : "Behind"; });

TEST(LayerProgram, GivesWhatItsLastStepWrites) {
  EXPECT_EQ(WrittenBy(LayerOf({}).back()), kOutput);
  EXPECT_EQ(WrittenBy(LayerOf({.norm_before = true}).back()), kInput);
}

}  // namespace
}  // namespace sti
