#include "format/part_selection.h"

#include <gtest/gtest.h>

#include "support/expect.h"

namespace sti {
namespace {

ModelShape Shape() {
  ModelShape shape;
  shape.layers = 2;
  shape.width = 2;
  return shape;
}

Plan OneShard(uint32_t layer, uint32_t slice, uint32_t bits) {
  Plan plan;
  plan.layers = {layer};
  plan.width = 1;
  plan.slices = {{slice}};
  plan.bits = {{bits}};
  return plan;
}

TEST(PartSelection, HoldsWhatVariantsAndTurnsRead) {
  Plan plan = OneShard(0, 1, 2);
  plan.variants.push_back(OneShard(1, 0, 3));
  PlanTurn turn;
  turn.bits = {{4}};
  plan.turns.push_back(turn);
  const auto selection = SelectForPlans(Shape(), {&plan, 1});
  EXPECT_EQ(selection, (PartSelection{{}, PartSet::For(4), PartSet::For(3), {}}));
  EXPECT_EQ(BitsOfPlans({&plan, 1}), (std::vector<uint32_t>{2, 3, 4}));
}

// Full fidelity is no superset of the planes: what a turn holds at fewer bits has its own parts.
TEST(PartSelection, HoldsThePlanesThatATurnKeepsBelowFullBits) {
  Plan plan = OneShard(0, 0, kFullBits);
  PlanTurn turn;
  turn.bits = plan.bits;
  turn.preload = {{0, 0, 5}};
  plan.turns.push_back(turn);
  const auto selection = SelectForPlans(Shape(), {&plan, 1});
  EXPECT_EQ(selection[0], PartSet::For(kFullBits).With(PartSet::For(5)));
  EXPECT_EQ(BitsOfPlans({&plan, 1}), (std::vector<uint32_t>{5, kFullBits}));
}

}  // namespace
}  // namespace sti
