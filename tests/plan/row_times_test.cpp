#include "plan/row_times.h"

#include <gtest/gtest.h>

#include <utility>

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

TEST(RowTimes, AShareOfTheRowsTakesAsLongToBegin) {
  DeviceProfile profile;
  profile.io = {{4096, 0, 100, 100}};
  profile.compute = {{64, 1, 10, 10}};
  profile.fixed = {{32, 0, 625, 0, 0, 700}, {64, 0, 1025, 0, 0, 1225}};  // 200 to begin
  const DeviceModels devices = *DeviceModels::Make(profile, 64, 0, Judging(), std::nullopt);
  const auto rows_us = [&](double share) {
    const DeviceModels shared = WithRowShare(devices, {share, share});
    return std::pair(shared.median.fixed().embed_io_us, shared.p99.fixed().embed_io_us);
  };
  EXPECT_EQ(rows_us(1), std::pair(1025.0, 1225.0));
  EXPECT_EQ(rows_us(0.5), std::pair(612.5, 712.5));
  EXPECT_EQ(rows_us(0), std::pair(0.0, 0.0)) << "nothing is read";
}

TEST(RowTimes, NothingIsKnownBeyondTheLongestOrWithoutCounts) {
  test::World world = Counted();
  ExpectShare(RowShareOf(world.checked(), 129, 129, 2), 1, 1);
  world.use_importance = false;
  ExpectShare(RowShareOf(world.checked(), 64, 64, 2), 1, 1);
}

}  // namespace
}  // namespace sti
