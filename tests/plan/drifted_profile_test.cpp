#include <gtest/gtest.h>

#include <cmath>

#include "plan/device_model.h"
#include "plan/judge.h"
#include "world.h"

namespace sti {
namespace {

DeviceProfile MeasuredProfile() {
  DeviceProfile profile;
  profile.io = {{4096, 0, 100, 150}, {8192, 0, 180, 0}};
  profile.compute = {{128, 4, 1000, 1200, 1800000, 300, 310}};
  profile.decode = {{2, -3, 1800000}, {32, 5, 1800000}};
  profile.fixed = {{128, 30, 40, 50, 33, 44, 55}};
  profile.kernel.name = "native";
  profile.start_us = 9000;
  profile.read_bytes = 4096;
  return profile;
}

TEST(DriftedProfile, ScalesComputeAndIoApart) {
  const DeviceProfile now = DriftedProfile(MeasuredProfile(), 2, 0.5);
  EXPECT_EQ(now.io[0].load_us, 50);
  EXPECT_EQ(now.io[0].p99_us, 75);
  EXPECT_EQ(now.io[1].load_us, 90);
  EXPECT_EQ(now.io[1].p99_us, 0) << "not measured";
  EXPECT_EQ(now.io[0].bytes, 4096u);
  EXPECT_EQ(now.compute[0].layer_us, 2000);
  EXPECT_EQ(now.compute[0].p99_us, 2400);
  EXPECT_EQ(now.compute[0].freq, 1800000u);
  EXPECT_EQ(now.compute[0].last_us, 600);
  EXPECT_EQ(now.compute[0].last_p99_us, 620);
  EXPECT_EQ(now.decode[0].extra_us, -6);
  EXPECT_EQ(now.decode[1].extra_us, 10);
  EXPECT_EQ(now.fixed[0].embed_us, 60);
  EXPECT_EQ(now.fixed[0].embed_p99_us, 66);
  EXPECT_EQ(now.fixed[0].embed_io_us, 20);
  EXPECT_EQ(now.fixed[0].embed_io_p99_us, 22);
  EXPECT_EQ(now.fixed[0].head_us, 100);
  EXPECT_EQ(now.fixed[0].head_p99_us, 110);
  EXPECT_EQ(now.start_us, 9000);
  EXPECT_EQ(now.read_bytes, 4096u);
  EXPECT_EQ(now.kernel.name, "native");
}

TEST(DriftedProfile, RatiosThatAreNoneChangeNothing) {
  for (const double ratio : {0.0, -2.0, std::nan(""), static_cast<double>(INFINITY)}) {
    const DeviceProfile now = DriftedProfile(MeasuredProfile(), ratio, ratio);
    EXPECT_EQ(now.io[0].load_us, 100);
    EXPECT_EQ(now.compute[0].layer_us, 1000);
    EXPECT_EQ(now.fixed[0].embed_io_us, 40);
  }
}

TEST(DriftedProfile, ReplansWithinTheTarget) {
  const test::World world = test::Odroid();
  PlanRequest request;
  request.target_us = 3e5;
  const auto before = MakePlan(world.input(), request);
  ASSERT_TRUE(before.ok());
  // A compute that throttles to half and a flash that somebody else reads too.
  const DeviceProfile now = DriftedProfile(world.profile, 1.9, 1.6);
  const PlanInput input{world.info, world.catalog, now, nullptr, world.input().model, {}, {}};
  const auto late = CheckPlan(input, request.judging, *before);
  ASSERT_TRUE(late.ok());
  EXPECT_FALSE(late->valid);
  const auto after = MakePlan(input, request);
  ASSERT_TRUE(after.ok()) << after.error().Message();
  EXPECT_LE(after->predicted_p99_us, 3e5);
  EXPECT_LT(after->layers.size() * after->width, before->layers.size() * before->width);
  EXPECT_EQ(after->times->layer_us,
            1.9 * *DeviceModel::Make(world.profile, 128, Risk::kMedian)->LayerUs(after->width));
}

}  // namespace
}  // namespace sti
