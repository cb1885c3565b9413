#include "profile/background_reads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "support/expect.h"
#include "support/safetensors_writer.h"
#include "support/temp_folder.h"

namespace sti {
namespace {

TEST(BackgroundReads, StartsAndStopsWithReadsInFlight) {
  TempFolder folder;
  std::string path = folder.File("blocks");
  ASSERT_TRUE(Succeeded(WriteBytes(path, std::string(16 * kBlockBytes, 'x'))));
  std::vector<ScheduledRead> reads(2);
  reads[0].length = 4 * kBlockBytes;
  reads[1] = {8 * kBlockBytes, 8 * kBlockBytes, 4 * kBlockBytes, 0, 0, 0, 0};
  for (int i = 0; i < 20; ++i) {
    auto lane =
        BackgroundReads::Start(FileSource(path), ReadPath::kThreads, reads, 12 * kBlockBytes);
    ASSERT_TRUE(Succeeded(lane));
  }
}

TEST(BackgroundReads, PausesAndGoesOn) {
  TempFolder folder;
  const std::string path = folder.File("blocks");
  ASSERT_TRUE(Succeeded(WriteBytes(path, std::string(16 * kBlockBytes, 'x'))));
  std::vector<ScheduledRead> reads(1);
  reads[0].length = 4 * kBlockBytes;
  for (const uint32_t depth : {1u, 4u}) {
    auto lane =
        BackgroundReads::Start(FileSource(path), ReadPath::kThreads, reads, 4 * kBlockBytes, depth);
    ASSERT_TRUE(Succeeded(lane));
    for (int i = 0; i < 20; ++i) {
      (*lane)->Pause();
      const uint64_t loads = (*lane)->loads();
      (*lane)->Pause();
      EXPECT_EQ((*lane)->loads(), loads);
      (*lane)->Resume();
      while ((*lane)->loads() == loads) std::this_thread::yield();
    }
    if (depth == 4) (*lane)->Pause();  // destroyed while paused
  }
}

TEST(BackgroundReads, ReadingNothingIsFine) {
  TempFolder folder;
  std::string path = folder.File("blocks");
  ASSERT_TRUE(Succeeded(WriteBytes(path, std::string(kBlockBytes, 'x'))));
  EXPECT_TRUE(Succeeded(BackgroundReads::Start(FileSource(path), ReadPath::kBuffered, {}, 0)));
}

TEST(BackgroundReads, AMissingFileIsAnError) {
  EXPECT_TRUE(
      FailedWith(BackgroundReads::Start(FileSource("/none/such"), ReadPath::kBuffered, {}, 0),
                 ErrorKind::kNoSuchFile, "no such file"));
}

}  // namespace
}  // namespace sti
