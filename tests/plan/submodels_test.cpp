#include "plan/search/submodels.h"

#include <gtest/gtest.h>

#include "world.h"

namespace sti {
namespace {

std::string ChosenAt(const test::World& world, double target_us) {
  auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  std::vector<Submodel> feasible;
  auto allowed = AllowedSubmodels(world.info, *device, SubmodelWish());
  for (const Submodel& s : *allowed) {
    if (s.depth * *device->LayerUs(s.width) <= target_us) feasible.push_back(s);
  }
  return NameOf(LargestThenDeepest(feasible, 0.2));
}

// STI Table 6, rows "Ours" and "Preload": the rule of compute planning must give these.
TEST(Submodels, Table6) {
  const test::World odroid = test::Odroid();
  EXPECT_EQ(ChosenAt(odroid, 150e3), "3x3");
  EXPECT_EQ(ChosenAt(odroid, 200e3), "5x3");
  EXPECT_EQ(ChosenAt(odroid, 400e3), "10x3");
  const test::World jetson = test::Jetson();
  EXPECT_EQ(ChosenAt(jetson, 150e3), "2x12");
  EXPECT_EQ(ChosenAt(jetson, 200e3), "3x12");
  EXPECT_EQ(ChosenAt(jetson, 400e3), "7x12");
}

TEST(Submodels, PlainModelRunsWholeOnly) {
  test::World world = test::Jetson();
  world.info.elastic = false;
  auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  SubmodelWish wish;
  auto only = AllowedSubmodels(world.info, *device, wish);
  ASSERT_TRUE(only.ok());
  ASSERT_EQ(only->size(), 1u);
  EXPECT_EQ(NameOf((*only)[0]), "12x12");
  wish.named = {3, 4};
  auto named = AllowedSubmodels(world.info, *device, wish);
  ASSERT_FALSE(named.ok());
  EXPECT_EQ(named.error().kind, ErrorKind::kInfeasible);
  EXPECT_NE(named.error().Message().find("not trained"), std::string::npos);
  wish.allow_untrained = true;
  EXPECT_TRUE(AllowedSubmodels(world.info, *device, wish).ok());
  wish.named.reset();
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish)->size(), 144u);
}

TEST(Submodels, LeastDepthAndWidth) {
  test::World world = test::Jetson();
  world.info.min_width = 4;
  auto device = DeviceModel::Make(world.profile, 128, Risk::kP99);
  SubmodelWish wish;
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish)->size(), 12u * 9);
  wish.width_min = 6;
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish)->size(), 12u * 7);
  world.info.min_depth = 3;
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish)->size(), 10u * 7);
  wish.named = {2, 6};
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish).error().kind, ErrorKind::kInfeasible);
  wish.allow_untrained = true;
  EXPECT_TRUE(AllowedSubmodels(world.info, *device, wish).ok());
  wish.named.reset();
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish)->size(), 12u * 7);
  wish.named = {13, 4};
  EXPECT_EQ(AllowedSubmodels(world.info, *device, wish).error().kind, ErrorKind::kUsage);
}

TEST(Submodels, DepthMapIsChecked) {
  test::World world(3, 2, {2}, {10});
  EXPECT_TRUE(ValidateModel(world.info, world.catalog).ok());
  world.info.depth_layers = {{1}, {0, 2}, {0, 1, 2}};
  EXPECT_TRUE(ValidateModel(world.info, world.catalog).ok());
  EXPECT_EQ(LayersOfDepth(world.info, 2), (std::vector<uint32_t>{0, 2}));
  world.info.depth_layers = {{1}, {2, 0}, {0, 1, 2}};
  EXPECT_EQ(ValidateModel(world.info, world.catalog).error().kind, ErrorKind::kDamaged);
  world.info.depth_layers = {{1}, {0, 3}, {0, 1, 2}};
  EXPECT_FALSE(ValidateModel(world.info, world.catalog).ok());
  world.info.depth_layers.clear();
  world.catalog.width = 3;
  EXPECT_FALSE(ValidateModel(world.info, world.catalog).ok());
}

}  // namespace
}  // namespace sti
