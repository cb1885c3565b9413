#include "types/cluster.h"

#include <gtest/gtest.h>

#include <string>

#include "base/remedy.h"

namespace sti {
namespace {

ClusterDevice DeviceOf(const std::string& name, const std::string& kind) {
  ClusterDevice device;
  device.name = name;
  device.kind = kind;
  device.profile.io = {{4096, 0, 50, 60}};
  device.profile.compute = {{64, 12, 1000, 1100}};
  return device;
}

/// Two boards a and b of one kind, with a laptop between them in the file; boards are linked to
/// each other, and to the laptop.
Cluster TwoBoards() {
  Cluster cluster;
  cluster.devices = {DeviceOf("a", "board"), DeviceOf("laptop", "laptop"), DeviceOf("b", "board")};
  cluster.links = {{2, 1, 3e7, 20}, {0, 2, 1e6, 5}, {0, 1, 3e7, 20}, {2, 0, 1e6, 5}};
  return cluster;
}

TEST(ClusterKinds, HaveTheirDevicesAndLinks) {
  const Cluster cluster = TwoBoards();
  const auto found = KindsOf(cluster);
  ASSERT_TRUE(found.ok()) << found.error().Message();
  ASSERT_EQ(found->kinds.size(), 2u);
  EXPECT_EQ(found->kinds[0].name, "board");
  EXPECT_EQ(found->kinds[0].devices, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(found->kinds[1].name, "laptop");
  EXPECT_EQ(found->kinds[1].devices, std::vector<uint32_t>{1});
  EXPECT_EQ(found->links.size(), 2u);
  ASSERT_NE(found->Link(0, 1), nullptr);
  EXPECT_EQ(found->Link(0, 1)->bits_per_s, 3e7);
  EXPECT_EQ(found->Link(0, 1)->delay_us, 20);
  ASSERT_NE(found->Link(0, 0), nullptr);
  EXPECT_EQ(found->Link(0, 0)->bits_per_s, 1e6);
  EXPECT_EQ(found->Link(1, 0), nullptr);
  EXPECT_EQ(found->Link(1, 1), nullptr);
  ASSERT_NE(cluster.Link(2, 1), nullptr);
  EXPECT_EQ(cluster.Link(2, 1)->delay_us, 20);
  EXPECT_EQ(cluster.Link(1, 2), nullptr);
}

TEST(ClusterKinds, AreOfAnyOrderOfLinksAndOfNone) {
  Cluster cluster = TwoBoards();
  std::swap(cluster.links.front(), cluster.links.back());
  const auto found = KindsOf(cluster);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->links.front().from, 0u);
  EXPECT_EQ(found->links.front().to, 0u);
  cluster.links.clear();
  const auto apart = KindsOf(cluster);
  ASSERT_TRUE(apart.ok());
  EXPECT_TRUE(apart->links.empty());
  EXPECT_TRUE(KindsOf({})->kinds.empty());
}

void ExpectDiffer(const Cluster& cluster, const std::string& words) {
  const auto found = KindsOf(cluster);
  ASSERT_FALSE(found.ok()) << words;
  EXPECT_EQ(found.error().kind, ErrorKind::kDamaged);
  EXPECT_EQ(found.error().remedy, Remedy::kCorrectFile);
  EXPECT_EQ(found.error().Message(), words);
}

TEST(ClusterKinds, AreOfDevicesThatAreAlike) {
  Cluster memory = TwoBoards();
  memory.devices[2].memory_bytes = 1;
  ExpectDiffer(memory, "a and b are of the kind board and differ in memory_bytes");
  Cluster preload = TwoBoards();
  preload.devices[0].preload_bytes = 1;
  ExpectDiffer(preload, "a and b are of the kind board and differ in preload_bytes");
  Cluster profile = TwoBoards();
  profile.devices[2].profile.compute[0].last_us = 7;
  ExpectDiffer(profile, "a and b are of the kind board and differ in profile");
}

TEST(ClusterKinds, AreLinkedAlike) {
  const std::string and_so = ", and devices of a kind are linked alike";
  Cluster none = TwoBoards();
  none.links.erase(none.links.begin());
  ExpectDiffer(none, "b to laptop is not linked as a to laptop" + and_so);
  Cluster rate = TwoBoards();
  rate.links[0].bits_per_s = 2e7;
  ExpectDiffer(rate, "b to laptop is not linked as a to laptop" + and_so);
  Cluster within = TwoBoards();
  within.links[3].delay_us = 6;
  ExpectDiffer(within, "b to a is not linked as a to b" + and_so);
  Cluster back = TwoBoards();
  back.links.push_back({1, 2, 3e7, 20});
  ExpectDiffer(back, "laptop to b is not linked as laptop to a" + and_so);
}

TEST(ClusterNames, ArePrintableAndNoPaths) {
  for (const std::string& name : {std::string("a"), std::string("pi-4.local"), std::string("~"),
                                  std::string("AUTO"), std::string(64, 'x')})
    EXPECT_TRUE(IsClusterName(name)) << name;
  for (const std::string& name :
       {std::string(), std::string("auto"), std::string(65, 'x'), std::string("a b"),
        std::string("a/b"), std::string("a\"b"), std::string("it's"), std::string("`a`"),
        std::string("a\nb"), std::string("a\x1b[m"), std::string("\xC3\xA9"), std::string(1, '\0')})
    EXPECT_FALSE(IsClusterName(name)) << name;
}

}  // namespace
}  // namespace sti
