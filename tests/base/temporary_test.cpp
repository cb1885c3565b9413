#include "base/temporary.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/atomic_file.h"
#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

namespace fs = std::filesystem;

TEST(Temporary, NamesAreShortAndKeepCharactersWhole) {
  EXPECT_EQ(TemporaryNameFor("a/model.sti").substr(0, 15), "a/model.sti.tmp");
  EXPECT_EQ(TemporaryNameFor("a/model.sti").size(), 21U);
  EXPECT_NE(TemporaryNameFor("model.sti"), TemporaryNameFor("model.sti"));
  std::string name;
  for (int i = 0; i < 127; ++i) name += "\u00e9";
  const std::string temporary = TemporaryNameFor(name);
  EXPECT_LE(temporary.size(), 255U);
  EXPECT_TRUE(temporary.starts_with(name.substr(0, 244) + ".tmp"));
}

TEST(Temporary, LeftoversOfOneOutputGoAndNothingElse) {
  const TempFolder folder;
  const std::string path = folder.File("out");
  const std::string leftover = TemporaryNameFor(path);
  const std::string left_folder = TemporaryNameFor(path);
  const std::string of_other = TemporaryNameFor(folder.File("out2"));
  const std::string typed = folder.File("out.tmpBackUp");  // by a person
  const std::string full = TemporaryNameFor(path);
  const std::string linked = TemporaryNameFor(path);
  for (const std::string& file : {leftover, of_other, typed})
    ASSERT_TRUE(Succeeded(WriteBytes(file, "x")));
  fs::create_directory(left_folder);
  ASSERT_TRUE(Succeeded(WriteBytes(left_folder + "/file", "x")));
  fs::create_directories(full + "/folder");
  fs::create_symlink(typed, linked);
  RemoveLeftoversOf(path);
  EXPECT_FALSE(fs::exists(leftover));
  EXPECT_FALSE(fs::exists(left_folder));
  for (const std::string& other : {of_other, typed, full + "/folder", linked})
    EXPECT_TRUE(fs::exists(other)) << other;
}

TEST(Temporary, WhatAProcessHoldsStays) {
  const TempFolder folder;
  const std::string name = TemporaryNameFor(folder.File("out"));
  const int fd = ::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(HoldTemporary(fd));
  RemoveLeftoversOf(folder.File("out"));
  EXPECT_FALSE(RemoveUnlessHeld(name));
  EXPECT_TRUE(fs::exists(name));
  ::close(fd);
  RemoveLeftoversOf(folder.File("out"));
  EXPECT_FALSE(fs::exists(name));
}

TEST(Temporary, OneThatWasTakenForALeftoverIsNotHeld) {
  const TempFolder folder;
  const std::string name = TemporaryNameFor(folder.File("out"));
  const int fd = ::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(RemoveUnlessHeld(name));
  EXPECT_FALSE(HoldTemporary(fd));
  ::close(fd);
}

TEST(Temporary, AHandlerOfASignalRemovesThemAll) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGTERM, [](int) {
      RemoveTemporaries();
      ::_exit(7);
    });
    auto file = AtomicFile::Create(folder.File("file"), AtomicFile::Naming::kNamed);
    auto made = AtomicFolder::Create(folder.File("folder"));
    auto done = AtomicFile::Create(folder.File("done"), AtomicFile::Naming::kNamed);
    if (!file.ok() || !made.ok() || !done.ok() || !done->Commit().ok()) ::_exit(1);
    if (!WriteBytes(made->temporary() + "/one", "x").ok()) ::_exit(2);
    if (folder.entries() != 3) ::_exit(3);
    ::raise(SIGTERM);
    ::_exit(4);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_TRUE(fs::exists(folder.File("done")));
}

}  // namespace
}  // namespace sti
