#include "base/atomic_folder.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sti
