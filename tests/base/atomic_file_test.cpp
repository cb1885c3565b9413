#include "base/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/utf8.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

class AtomicFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string Read() const {
    auto content = ReadWholeFile(path_, 1000);
    return content.ok() ? *content : "error: " + content.error().Message();
  }
  [[nodiscard]] mode_t Mode() const {
    struct stat info {};
    EXPECT_EQ(::stat(path_.c_str(), &info), 0);
    return info.st_mode & 0777;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("file");
};

TEST_F(AtomicFileTest, AppearsOnlyOnCommit) {
  auto file = AtomicFile::Create(path_);
  ASSERT_TRUE(Succeeded(file));
  ASSERT_TRUE(Succeeded(file->WriteAt(0, AsBytes("hello"))));
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(Succeeded(file->Commit()));
  EXPECT_EQ(Read(), "hello");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(AtomicFileTest, DroppedWithoutCommitLeavesTheOldFile) {
  ASSERT_TRUE(Succeeded(WriteFileAtomically(path_, AsBytes("old"))));
  {
    auto file = AtomicFile::Create(path_);
    ASSERT_TRUE(Succeeded(file));
    ASSERT_TRUE(Succeeded(file->WriteAt(0, AsBytes("new and longer"))));
    EXPECT_EQ(Read(), "old");
  }
  EXPECT_EQ(Read(), "old");
  EXPECT_EQ(folder_.entries(), 1U);
}

// Where the file system has files without names, and where it has none.
class AtomicFileNaming : public AtomicFileTest,
                         public ::testing::WithParamInterface<AtomicFile::Naming> {};
INSTANTIATE_TEST_SUITE_P(Both, AtomicFileNaming,
                         ::testing::Values(AtomicFile::Naming::kWithoutNameIfPossible,
                                           AtomicFile::Naming::kNamed));

TEST_P(AtomicFileNaming, ReplacesOnCommitAlone) {
  ASSERT_TRUE(Succeeded(WriteFileAtomically(path_, AsBytes("old"))));
  for (const bool commit : {false, true}) {
    auto file = AtomicFile::Create(path_, GetParam());
    ASSERT_TRUE(Succeeded(file));
    ASSERT_TRUE(Succeeded(file->WriteAt(0, AsBytes("new and longer"))));
    EXPECT_EQ(Read(), "old");
    if (!commit) continue;
    ASSERT_TRUE(Succeeded(file->Commit()));
  }
  EXPECT_EQ(Read(), "new and longer");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(AtomicFileNaming, KeepsThePermissionsOfWhatItReplaces) {
  ASSERT_TRUE(Succeeded(WriteBytes(path_, "secret")));
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  auto file = AtomicFile::Create(path_, GetParam());
  ASSERT_TRUE(Succeeded(file));
  ASSERT_TRUE(Succeeded(file->Commit()));
  EXPECT_EQ(Mode(), 0600U);
}

TEST_P(AtomicFileNaming, ReplacesWhatALinkLeadsTo) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_.File("far"));
  fs::create_symlink("far/other", path_);
  fs::create_symlink("file", folder_.File("link"));
  for (const char* content : {"made", "made again"}) {  // it leads nowhere at first
    auto file = AtomicFile::Create(folder_.File("link"), GetParam());
    ASSERT_TRUE(Succeeded(file));
    ASSERT_TRUE(Succeeded(file->WriteAt(0, AsBytes(content))));
    ASSERT_TRUE(Succeeded(file->Commit()));
    EXPECT_EQ(*ReadWholeFile(folder_.File("far/other"), 100), content);
  }
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_TRUE(fs::is_symlink(folder_.File("link")));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.File("far")), {}), 1);
}

TEST_P(AtomicFileNaming, WritesNamesAsLongAsNamesAre) {
  const std::string name = folder_.File(std::string(255, 'n'));
  auto file = AtomicFile::Create(name, GetParam());
  ASSERT_TRUE(Succeeded(file));
  ASSERT_TRUE(Succeeded(file->Commit()));
  EXPECT_TRUE(std::filesystem::exists(name));
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_P(AtomicFileNaming, WhatAKilledProcessLeftGoesWithTheNextFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto file = AtomicFile::Create(path_, GetParam());
    if (file.ok() && file->WriteAt(0, AsBytes("half")).ok()) ::raise(SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(folder_.entries(), GetParam() == AtomicFile::Naming::kNamed ? 1U : 0U);
  ASSERT_TRUE(Succeeded(WriteFileAtomically(folder_.File("other"), AsBytes("x"))));
  EXPECT_EQ(folder_.entries(), GetParam() == AtomicFile::Naming::kNamed ? 2U : 1U);
  ASSERT_TRUE(Succeeded(WriteFileAtomically(path_, AsBytes("whole"))));
  EXPECT_EQ(folder_.entries(), 2U);
  EXPECT_EQ(Read(), "whole");
}

TEST_P(AtomicFileNaming, TwoWritersOfOneFileLeaveEachOtherAlone) {
  auto first = AtomicFile::Create(path_, GetParam());
  auto second = AtomicFile::Create(path_, GetParam());
  ASSERT_TRUE(Succeeded(first));
  ASSERT_TRUE(Succeeded(second));
  ASSERT_TRUE(Succeeded(first->WriteAt(0, AsBytes("first"))));
  ASSERT_TRUE(Succeeded(second->WriteAt(0, AsBytes("second"))));
  ASSERT_TRUE(Succeeded(second->Commit()));
  EXPECT_EQ(Read(), "second");
  ASSERT_TRUE(Succeeded(first->Commit()));
  EXPECT_EQ(Read(), "first");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(AtomicFileTest, RefusesALinkToItself) {
  std::filesystem::create_symlink("file", path_);
  EXPECT_TRUE(FailedWith(AtomicFile::Create(path_), ErrorKind::kUsage, "link to itself"));
}

TEST_F(AtomicFileTest, WhetherAFileCanBeWrittenIsToldWithoutATrace) {
  EXPECT_TRUE(Succeeded(CheckCanWrite(path_)));
  EXPECT_EQ(folder_.entries(), 0U);
  EXPECT_TRUE(FailedWith(CheckCanWrite(folder_.File("none/file")), ErrorKind::kMachine, "none"));
}

TEST_F(AtomicFileTest, CommitReplacesTheOldFileWhole) {
  ASSERT_TRUE(Succeeded(WriteFileAtomically(path_, AsBytes("old and longer"))));
  ASSERT_TRUE(Succeeded(WriteFileAtomically(path_, AsBytes("new"))));
  EXPECT_EQ(Read(), "new");
  EXPECT_EQ(folder_.entries(), 1U);
}

TEST_F(AtomicFileTest, WritesAtAnyOffsetInAnyOrder) {
  auto file = AtomicFile::Create(path_);
  ASSERT_TRUE(Succeeded(file));
  ASSERT_TRUE(Succeeded(file->WriteAt(4, AsBytes("BB"))));
  ASSERT_TRUE(Succeeded(file->WriteAt(0, AsBytes("A"))));
  ASSERT_TRUE(Succeeded(file->Commit()));
  EXPECT_EQ(Read(), std::string("A\0\0\0BB", 6));
}

TEST_F(AtomicFileTest, MovedFromDoesNotDiscard) {
  auto made = AtomicFile::Create(path_);
  ASSERT_TRUE(Succeeded(made));
  AtomicFile file = std::move(made).value();
  { const AtomicFile gone = std::move(file); }
  EXPECT_EQ(folder_.entries(), 0U);
}

TEST_F(AtomicFileTest, PermissionsFollowTheUmask) {
  const mode_t before = ::umask(027);
  const Status written = WriteFileAtomically(path_, AsBytes("x"));
  ::umask(before);
  ASSERT_TRUE(Succeeded(written));
  EXPECT_EQ(Mode(), 0640U);
}

TEST_F(AtomicFileTest, RefusesAFolder) {
  EXPECT_TRUE(FailedWith(AtomicFile::Create(folder_.path()), ErrorKind::kUsage, "is a folder"));
}

TEST_F(AtomicFileTest, DevicesAndPipesAreNotReplaced) {
  std::string pipe = folder_.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(FailedWith(AtomicFile::Create(pipe), ErrorKind::kUsage, "not a regular file"));
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(AtomicFileTest, SaysWhenItsFolderIsMissing) {
  const auto file = AtomicFile::Create(folder_.File("none/file"));
  EXPECT_TRUE(FailedWith(file, ErrorKind::kMachine, "none/file"));
}

TEST_F(AtomicFileTest, ReadingStopsAtTheLimit) {
  ASSERT_TRUE(Succeeded(WriteBytes(path_, "0123456789")));
  ASSERT_TRUE(Succeeded(ReadWholeFile(path_, 10)));
  EXPECT_EQ(*ReadWholeFile(path_, 10), "0123456789");
  EXPECT_TRUE(FailedWith(ReadWholeFile(path_, 9), ErrorKind::kDamaged, "limit of 9 bytes"));
  EXPECT_EQ(*ReadWholeFile(path_, 10, 10), "0123456789");
  // A stream without lines and without an end.
  const auto zeros = ReadWholeFile("/dev/zero", uint64_t{1} << 40, 100000);
  ASSERT_TRUE(Succeeded(zeros));
  EXPECT_GT(zeros->size(), 100000U);
  EXPECT_LT(zeros->size(), 2000000U);
}

TEST_F(AtomicFileTest, ReadsAnEmptyFile) {
  ASSERT_TRUE(Succeeded(WriteBytes(path_, "")));
  const auto content = ReadWholeFile(path_, 0);
  ASSERT_TRUE(Succeeded(content));
  EXPECT_EQ(*content, "");
}

TEST_F(AtomicFileTest, ReadingWhatIsNoFileIsADataError) {
  EXPECT_TRUE(FailedWith(ReadWholeFile(path_, 10), ErrorKind::kNoSuchFile, "no such file"));
  EXPECT_TRUE(FailedWith(ReadWholeFile(folder_.path(), 10), ErrorKind::kNoSuchFile, "is a folder"));
}

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
