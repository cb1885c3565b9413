#include "base/atomic_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "support/expect.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

namespace fs = std::filesystem;

void Touch(const std::string& path) { std::ofstream(path) << "x"; }
size_t EntriesOf(const std::string& path) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(path), {}));
}

TEST(AtomicFolder, AppearsWholeOnCommit) {
  const TempFolder folder;
  const std::string path = folder.path() + "/new/";
  auto made = AtomicFolder::Create(path);
  ASSERT_TRUE(Succeeded(made));
  Touch(made->temporary() + "/file");
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(made->Commit().ok());
  EXPECT_TRUE(fs::exists(folder.path() + "/new/file"));
  EXPECT_EQ(EntriesOf(folder.path()), 1U);
}

TEST(AtomicFolder, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  {
    auto made = AtomicFolder::Create(folder.path() + "/new");
    ASSERT_TRUE(Succeeded(made));
    Touch(made->temporary() + "/file");
  }
  EXPECT_EQ(EntriesOf(folder.path()), 0U);
}

TEST(AtomicFolder, NeverReplacesWhatHoldsSomething) {
  const TempFolder folder;
  const std::string path = folder.path() + "/taken";
  fs::create_directory(path);
  auto made = AtomicFolder::Create(path);  // empty: fine
  ASSERT_TRUE(Succeeded(made));
  Touch(path + "/mine");
  EXPECT_TRUE(FailedWith(AtomicFolder::Create(path), ErrorKind::kUsage, "exists already"));
  EXPECT_TRUE(FailedWith(made->Commit(), ErrorKind::kMachine, "cannot rename"));
  EXPECT_TRUE(fs::exists(path + "/mine"));
  EXPECT_TRUE(
      FailedWith(AtomicFolder::Create(path + "/mine"), ErrorKind::kUsage, "exists already"));
}

TEST(AtomicFolder, WhatAKilledProcessLeftGoesWithTheNextFolder) {
  const TempFolder folder;
  const std::string path = folder.path() + "/new";
  const pid_t child = ::fork();
  if (child == 0) {
    auto made = AtomicFolder::Create(path);
    if (made.ok()) Touch(made->temporary() + "/file");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(EntriesOf(folder.path()), 1U);
  auto one = AtomicFolder::Create(path);
  ASSERT_TRUE(Succeeded(one));
  auto other = AtomicFolder::Create(path);
  ASSERT_TRUE(Succeeded(other));
  EXPECT_EQ(EntriesOf(folder.path()), 2U);  // both are held
  ASSERT_TRUE(Succeeded(one->Commit()));
}

TEST(AtomicFolder, BecomesWhatALinkLeadsToWithItsPermissions) {
  const TempFolder folder;
  fs::create_directory(folder.path() + "/empty");
  fs::permissions(folder.path() + "/empty", fs::perms::owner_all);
  fs::create_symlink("empty", folder.path() + "/link");
  auto made = AtomicFolder::Create(folder.path() + "/link");
  ASSERT_TRUE(Succeeded(made));
  Touch(made->temporary() + "/file");
  ASSERT_TRUE(Succeeded(made->Commit()));
  EXPECT_TRUE(fs::is_symlink(folder.path() + "/link"));
  EXPECT_TRUE(fs::exists(folder.path() + "/empty/file"));
  EXPECT_EQ(fs::status(folder.path() + "/empty").permissions(), fs::perms::owner_all);
}

TEST(AtomicFolder, LeavesNothingWhereNoDescriptorIsFree) {
  const TempFolder folder;
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(lowest, 0);
  ::close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto made = AtomicFolder::Create(folder.path() + "/new");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_TRUE(FailedWith(made, ErrorKind::kMachine, "cannot create a folder beside it"));
  EXPECT_EQ(EntriesOf(folder.path()), 0U);
}

}  // namespace
}  // namespace sti
