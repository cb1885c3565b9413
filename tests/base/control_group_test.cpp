#include "base/control_group.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "support/in_child.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

// A made-up machine: what /proc and /sys would say.
class FakeRoot {
 public:
  FakeRoot() = default;
  FakeRoot(const std::string& cgroups, const std::string& mounts) { Mount(cgroups, mounts); }
  void Write(const std::string& path, const std::string& text) const {
    const auto whole = std::filesystem::path(root()) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void Mount(const std::string& cgroups, const std::string& mounts) const {
    Write("proc/self/cgroup", cgroups);
    Write("proc/self/mountinfo",
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + mounts);
  }
  [[nodiscard]] std::string root() const { return folder_.path(); }
  [[nodiscard]] uint32_t Cpus() const { return QuotaCpus(root()); }

 private:
  TempFolder folder_;
};

const std::string kUnified = "30 22 0:25 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
const std::string kOld =
    "31 22 0:26 / /sys/fs/cgroup/cpu,cpuacct rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 22 0:27 / /sys/fs/cgroup/cpuset rw shared:6 - cgroup cgroup rw,cpuset\n";

TEST(QuotaCpus, NoneWhereNothingIsKnown) {
  const FakeRoot nothing;
  EXPECT_EQ(nothing.Cpus(), 0U);
  const FakeRoot unlimited("0::/app\n", kUnified);
  EXPECT_EQ(unlimited.Cpus(), 0U);
}

TEST(QuotaCpus, Version2RoundsUp) {
  const FakeRoot root("0::/app.slice/app\n", kUnified);
  const std::string file = "sys/fs/cgroup/app.slice/app/cpu.max";
  root.Write(file, "max 100000\n");
  EXPECT_EQ(root.Cpus(), 0U);
  root.Write(file, "200000 100000\n");
  EXPECT_EQ(root.Cpus(), 2U);
  root.Write(file, "200001 100000\n");
  EXPECT_EQ(root.Cpus(), 3U);
  root.Write(file, "1000 100000\n");
  EXPECT_EQ(root.Cpus(), 1U);
}

TEST(QuotaCpus, TheSmallestOfTheGroupsAboveCounts) {
  const FakeRoot root("0::/a/b/c\n", kUnified);
  root.Write("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  root.Write("sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  root.Write("sys/fs/cgroup/a/cpu.max", "20000 5000\n");
  EXPECT_EQ(root.Cpus(), 3U);
  root.Write("sys/fs/cgroup/a/cpu.max", "10000 5000\n");
  EXPECT_EQ(root.Cpus(), 2U);
  root.Write("sys/fs/cgroup/a/d/cpu.max", "5000 5000\n");  // another's
  EXPECT_EQ(root.Cpus(), 2U);
}

TEST(QuotaCpus, Version1) {
  const FakeRoot root;
  root.Mount("4:memory:/m\n3:cpuset:/other\n2:cpu,cpuacct:/a/b\n0::/\n", kOld);
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct/a/";
  root.Write(folder + "b/cpu.cfs_quota_us", "-1\n");
  root.Write(folder + "b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(root.Cpus(), 0U);
  root.Write(folder + "b/cpu.cfs_quota_us", "350000\n");
  EXPECT_EQ(root.Cpus(), 4U);
  root.Write(folder + "cpu.cfs_quota_us", "5000\n");
  root.Write(folder + "cpu.cfs_period_us", "5000\n");
  EXPECT_EQ(root.Cpus(), 1U);
}

TEST(QuotaCpus, BothVersionsAtOnce) {
  const FakeRoot root;
  root.Mount("2:cpu,cpuacct:/a\n0::/u\n",
             kOld + "33 22 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  root.Write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  root.Write("sys/fs/cgroup/unified/u/cpu.max", "500000 100000\n");
  EXPECT_EQ(root.Cpus(), 3U);
}

TEST(QuotaCpus, AContainersMountShowsItsOwnGroup) {
  const FakeRoot root;
  root.Mount("0::/pod/box/inner\n", "30 22 0:25 /pod/box /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  root.Write("sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(root.Cpus(), 4U);
  root.Write("sys/fs/cgroup/inner/cpu.max", "200000 100000\n");
  EXPECT_EQ(root.Cpus(), 2U);
  // Not below what is mounted: only the mount's top is to be seen.
  root.Mount("0::/pod/boxes\n", "30 22 0:25 /pod/box /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(root.Cpus(), 4U);
  root.Mount("0::/../outside\n", kUnified);
  root.Write("sys/fs/outside/cpu.max", "100000 100000\n");
  EXPECT_EQ(root.Cpus(), 4U);
}

TEST(QuotaCpus, WhatIsNoNumberIsNoQuota) {
  const FakeRoot root("0::/app\n", kUnified);
  for (const std::string text :
       {"", "\n", "200000", "x 100000", "200000 x", "200000 0", "0 100000", "-5 100000",
        "200000 -100000", "1e5 100000", "99999999999999999999 100000", "200000 100000 7", "1 2x"}) {
    root.Write("sys/fs/cgroup/app/cpu.max", text);
    EXPECT_EQ(root.Cpus(), 0U) << text;
  }
  root.Write("sys/fs/cgroup/app/cpu.max", "9223372036854775807 1");
  EXPECT_EQ(root.Cpus(), UINT32_MAX);
  const FakeRoot broken;
  broken.Mount("nonsense\n:\n::\n0:\n", "30\n30 22 - cgroup2\n- - -\n" + kUnified);
  EXPECT_EQ(broken.Cpus(), 0U);
}

TEST(UsableCpus, RespectsAffinity) {
  const std::string counted = InChild([] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return std::string("no affinity");
    int first = 0;
    while (!CPU_ISSET(first, &set)) ++first;
    CPU_ZERO(&set);
    CPU_SET(first, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) return std::string("no affinity");
    return std::to_string(UsableCpus());
  });
  if (counted == "no affinity") GTEST_SKIP() << "no affinity of up to 1,024 CPUs here";
  EXPECT_EQ(counted, "1");
}

// A real group of version 1, below the one this process is in.
TEST(UsableCpus, RespectsARealQuota) {
  const std::filesystem::path group = "/sys/fs/cgroup/cpu/sti-test-" + std::to_string(getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(group, error)) {
    GTEST_SKIP() << "no control group can be made in /sys/fs/cgroup/cpu";
  }
  std::ofstream(group / "cpu.cfs_period_us") << 100000;
  std::ofstream(group / "cpu.cfs_quota_us") << 100000;
  const std::string counted = InChild([&] {
    std::ofstream joined(group / "cgroup.procs");
    joined << getpid() << std::flush;
    // A process that has counted its CPUs keeps the quota that it found; this one may have.
    const uint32_t usable = std::min(UsableCpus(), QuotaCpus());
    return joined.good() ? std::to_string(usable) : std::string("cannot join");
  });
  const bool removed = std::filesystem::remove(group, error);
  EXPECT_TRUE(removed) << error.message();
  if (counted == "cannot join") GTEST_SKIP() << "no process can be moved to a control group";
  EXPECT_EQ(counted, "1");
}

}  // namespace
}  // namespace sti
