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

TEST(LayerProgram, UsesEveryTensorOfALayerOnce) {
  std::multiset<TensorRole> used;
  for (const LayerStep& step : EncoderLayer()) {
    for (const TensorRole role : ParametersOf(step)) used.insert(role);
  }
  std::multiset<TensorRole> all;
  for (const TensorSpec& tensor : kTensors) {
    if (IsOfLayer(tensor)) all.insert(tensor.role);
  }
  EXPECT_EQ(used, all);
}

TEST(LayerProgram, WritesEachValueBeforeItIsRead) {
  std::set<LayerValue> written = {kInput};
  std::set<LayerValue> read;
  for (const LayerStep& step : EncoderLayer()) {
    for (const LayerValue value : kLayerValues) {
      if (!Reads(step, value)) continue;
      EXPECT_TRUE(written.contains(value)) << static_cast<int>(value);
      read.insert(value);
    }
    const LayerValue out = WrittenBy(step);
    EXPECT_FALSE(read.contains(out));
    EXPECT_EQ(written.insert(out).second, !std::holds_alternative<AddStep>(step));
  }
  EXPECT_EQ(WrittenBy(EncoderLayer().back()), kOutput);
  EXPECT_EQ(written.size(), kLayerValues.size());
}

TEST(LayerProgram, IsTwoPiecesThatMeetAtTheContext) {
  const LayerProgram program = EncoderLayer();
  const LayerProgram first = ContextSteps(program);
  const LayerProgram second = FinishSteps(program);
  EXPECT_EQ(first.size() + second.size(), program.size());
  EXPECT_EQ(first.data(), program.data());
  EXPECT_EQ(WrittenBy(first.back()), kContext);
  for (const LayerStep& step : second) {
    EXPECT_FALSE(std::ranges::any_of(first, [&](const LayerStep& before) {
      const LayerValue value = WrittenBy(before);
      return value != kContext && Reads(step, value);
    }));
  }
}

TEST(LayerProgram, WantsAllRowsOfWhatAttentionLooksAt) {
  const std::set<LayerValue> of_all = {kInput, kKeys, kValues};
  for (const LayerValue value : kLayerValues) {
    EXPECT_EQ(IsOfAllRows(EncoderLayer(), value), of_all.contains(value))
        << static_cast<int>(value);
  }
}

}  // namespace
}  // namespace sti
