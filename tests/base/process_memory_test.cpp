#include "base/process_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "support/sanitizers.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

constexpr size_t kBytes = size_t{32} << 20;

TEST(ProcessMemory, PagesThatAreWrittenCountInFull) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory beside what is written";
  const uint64_t before = SettledRssBytes();
  const std::vector<char> written(kBytes, 1);
  EXPECT_NEAR(static_cast<double>(SettledRssBytes() - before), static_cast<double>(kBytes), 2e6);
  EXPECT_GE(CurrentRssBytes(), kBytes);
  EXPECT_GE(PeakRssBytes(), kBytes);
}

/// A file of zeros that has no pages in memory, as the code of a program has before it runs. Takes
/// over its descriptor.
class MappedFile {
 public:
  explicit MappedFile(int descriptor) {
    if (descriptor < 0) return;
    if (ftruncate(descriptor, kBytes) == 0)
      data_ = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    close(descriptor);
  }
  ~MappedFile() {
    if (mapped()) munmap(data_, kBytes);
  }
  [[nodiscard]] bool mapped() const { return data_ != MAP_FAILED; }
  [[nodiscard]] const volatile char* data() const { return static_cast<const char*>(data_); }

 private:
  void* data_ = MAP_FAILED;
};

TEST(ProcessMemory, AMappedFileCountsWhetherItsPagesAreThereOrNot) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory beside what is read";
  FILE* on_disk = std::tmpfile();
  ASSERT_NE(on_disk, nullptr);
  for (const int descriptor : {dup(fileno(on_disk)), memfd_create("file", MFD_CLOEXEC)}) {
    const uint64_t before = SettledRssBytes();
    const MappedFile file(descriptor);
    ASSERT_TRUE(file.mapped());
    const uint64_t untouched = SettledRssBytes();
    EXPECT_NEAR(static_cast<double>(untouched - before), 0.8 * kBytes, 2e6);
    char sum = 0;
    for (size_t i = 0; i < kBytes / 2; i += 4096) sum = static_cast<char>(sum + file.data()[i]);
    EXPECT_EQ(sum, 0);
    EXPECT_NEAR(static_cast<double>(SettledRssBytes()), static_cast<double>(untouched), 2e6);
  }
  std::fclose(on_disk);
}

using namespace std::chrono_literals;

/// A machine whose memory files a test writes, and its watch, which looks every second.
class MemoryPressureTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const auto whole = std::filesystem::path(folder_.path()) / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void Stall(const std::string& path, const std::string& total_us) const {
    Write(path, "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + total_us +
                    "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=900000000\n");
  }
  void MountGroup() const {
    Write("proc/self/cgroup", "0::/app\n");
    Write("proc/self/mountinfo", "30 22 0:25 / /cg rw shared:4 - cgroup2 cgroup2 rw\n");
  }
  bool WasShort() {
    if (!pressure_) pressure_.emplace(folder_.path());
    now_ += 1s;
    return pressure_->WasShort(now_);
  }

  TempFolder folder_;
  std::optional<MemoryPressure> pressure_;
  Clock::time_point now_ = Clock::now();
};

TEST_F(MemoryPressureTest, NothingIsKnownWithoutTheFiles) {
  EXPECT_FALSE(WasShort());
  EXPECT_FALSE(WasShort());
}

TEST_F(MemoryPressureTest, ATenthOfTheTimeIsShort) {
  Stall("proc/pressure/memory", "5000000");
  EXPECT_FALSE(WasShort()) << "who knows when that was";
  EXPECT_FALSE(WasShort());
  Stall("proc/pressure/memory", "5099000");
  EXPECT_FALSE(WasShort());
  Stall("proc/pressure/memory", "5199000");
  EXPECT_TRUE(WasShort());
  EXPECT_FALSE(WasShort()) << "and no longer";
}

TEST_F(MemoryPressureTest, TheGroupsOwnStallsCount) {
  MountGroup();
  Stall("proc/pressure/memory", "0");
  Stall("cg/app/memory.pressure", "0");
  EXPECT_FALSE(WasShort());
  Stall("cg/app/memory.pressure", "500000");
  EXPECT_TRUE(WasShort());
}

TEST_F(MemoryPressureTest, EventsOfTheGroupCountButThoseAtItsMaximum) {
  MountGroup();
  Write("cg/app/memory.events", "low 0\nhigh 3\nmax 5\noom 0\noom_kill 0\n");
  EXPECT_FALSE(WasShort());
  Write("cg/app/memory.events", "low 9\nhigh 3\nmax 50\noom 0\noom_kill 0\n");
  EXPECT_FALSE(WasShort());
  Write("cg/app/memory.events", "low 9\nhigh 4\nmax 50\noom 0\noom_kill 0\n");
  EXPECT_TRUE(WasShort());
  Write("cg/app/memory.events", "low 9\nhigh 4\nmax 50\noom 1\noom_kill 0\n");
  EXPECT_TRUE(WasShort());
  EXPECT_FALSE(WasShort());
}

TEST_F(MemoryPressureTest, FilesOfAnotherFormSayNothing) {
  MountGroup();
  for (const std::string total : {"", "many", "99999999999999999999", "-5"}) {
    Stall("proc/pressure/memory", total);
    Write("cg/app/memory.events", "high " + total + "\nhigh\n\n");
    EXPECT_FALSE(WasShort()) << total;
  }
}

}  // namespace

}  // namespace sti
