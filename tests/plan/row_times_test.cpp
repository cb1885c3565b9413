#include "plan/row_times.h"

#include <gtest/gtest.h>

#include "world.h"

namespace sti {
namespace {

/// Returns a world whose longer texts read less of their rows, and less with two words preloaded.
test::World Counted() {
  test::World world = test::Odroid();
  world.MeasureSubmodels();
  world.importance.word_use.words = {9, 5};
  world.importance.word_use.reads = {
      {64, 0, 0.75, 1}, {64, 2, 0.5, 0.625}, {128, 0, 0.25, 0.5}, {128, 2, 0.125, 0.25}};
  return world;
}

void ExpectShare(const RowShare& share, double median, double p99) {
  EXPECT_EQ(share.median, median);
  EXPECT_EQ(share.p99, p99);
}

TEST(RowTimes, AShareIsThatOfItsLength) {
  const test::World world = Counted();
  const CheckedInput input = world.checked();
  ExpectShare(RowShareOf(input, 64, 64, 0), 0.75, 1);
  ExpectShare(RowShareOf(input, 128, 128, 0), 0.25, 0.5);
  ExpectShare(RowShareOf(input, 128, 128, 2), 0.125, 0.25);
}

TEST(RowTimes, TheMemoryOfTheLongestTextCounts) {
  test::World world = Counted();
  world.importance.word_use.reads[0].rooms = {{128, 0.5, 0.75}, {256, 0.25, 0.5}};
  const CheckedInput input = world.checked();
  ExpectShare(RowShareOf(input, 64, 64, 0), 0.75, 1);
  ExpectShare(RowShareOf(input, 64, 127, 0), 0.75, 1);  // no room was measured below 128
  ExpectShare(RowShareOf(input, 64, 128, 0), 0.5, 0.75);
  ExpectShare(RowShareOf(input, 64, 512, 0), 0.25, 0.5);
  ExpectShare(RowShareOf(input, 64, 512, 2), 0.25, 0.5);  // two words save no less than none
}

TEST(RowTimes, BetweenWhatWasMeasuredTheLargerShareCounts) {
  const test::World world = Counted();
  const CheckedInput input = world.checked();
  ExpectShare(RowShareOf(input, 96, 96, 2), 0.5, 0.625);  // of 64 and 128 tokens
  ExpectShare(RowShareOf(input, 16, 16, 2), 0.5, 0.625);  // no shorter one was measured
  ExpectShare(RowShareOf(input, 64, 64, 1), 0.75, 1);     // one word saves what none does
}

TEST(RowTimes, NothingIsKnownBeyondTheLongestOrWithoutCounts) {
  test::World world = Counted();
  ExpectShare(RowShareOf(world.checked(), 129, 129, 2), 1, 1);
  world.use_importance = false;
  ExpectShare(RowShareOf(world.checked(), 64, 64, 2), 1, 1);
}

}  // namespace
}  // namespace sti
