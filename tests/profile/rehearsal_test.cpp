#include "profile/rehearsal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "support/expect.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

const std::vector<uint32_t> kIds{2, 5, 7, 9, 3};
const std::vector<uint32_t> kTypes{0, 0, 0, 0, 0};

// A container whose reads each take as long as a test says at least.
class RehearsalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = 5;
    ASSERT_TRUE(Succeeded(WriteTinyContainer(path_, model, {})));
    std::ifstream in(path_, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  Result<std::unique_ptr<Rehearsal>> Open(uint32_t width = 2, uint32_t batch = 1) {
    const auto read_at = [this](uint64_t offset, std::span<uint8_t> buffer) -> int64_t {
      std::this_thread::sleep_for(std::chrono::microseconds(each_us_));
      if (broken_) return -5;
      if (offset >= bytes_.size()) return 0;
      const size_t count = std::min<size_t>(buffer.size(), bytes_.size() - offset);
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, buffer.begin());
      return static_cast<int64_t>(count);
    };
    return Rehearsal::Open(CallbackSource(read_at, bytes_.size()),
                           {ReadPath::kBuffered, {65536, 1}, 8, width, batch, &cores_, {}});
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  std::vector<uint8_t> bytes_;
  ThreadPool cores_{1};
  std::atomic<int> each_us_ = 0;
  std::atomic<bool> broken_ = false;
};

TEST_F(RehearsalTest, TimesWhatARunWaitsFor) {
  const auto rehearsal = Open();
  ASSERT_TRUE(Succeeded(rehearsal));
  EXPECT_EQ((*rehearsal)->shards_of_run(), 4U);
  each_us_ = 3000;
  const auto rows = (*rehearsal)->RowsUs({TokenInput{kIds, kTypes}, {}});
  ASSERT_TRUE(Succeeded(rows));
  EXPECT_GE(*rows, 3000);
  for (const uint32_t bits : {2U, 6U, 32U}) {
    // At least one read behind the rows, for the shards of two layers.
    const auto shard = (*rehearsal)->ShardUs(bits, {TokenInput{kIds, kTypes}, {}});
    ASSERT_TRUE(Succeeded(shard));
    EXPECT_GE(*shard, 3000.0 / 4);
  }
  // Nothing is read any more when the last shard is there.
  const auto tail = (*rehearsal)->TailUs({TokenInput{kIds, kTypes}, {}});
  ASSERT_TRUE(Succeeded(tail));
  EXPECT_GT(*tail, 0);
}

TEST(EndOfRun, BeginsWhenNothingIsWaitedForAnyMore) {
  RunReport run;
  run.latency_us = 100;
  run.layers = {{0, 0, 10, 12, 40, 0, 1}, {1, 10, 70, 75, 90, 0, 1}};
  EXPECT_EQ(EndOfRunUs(run), 30);  // for its last shard
  run.layers[0].end_us = 80;
  EXPECT_EQ(EndOfRunUs(run), 20);  // for the layer before
  run.layers.erase(run.layers.begin());
  EXPECT_EQ(EndOfRunUs(run), 30);
}

TEST_F(RehearsalTest, RunsAsWideAsToldTo) {
  const auto rehearsal = Open(1);
  ASSERT_TRUE(Succeeded(rehearsal));
  EXPECT_EQ((*rehearsal)->shards_of_run(), 2U);
}

TEST_F(RehearsalTest, RunsSeveralInputsTogether) {
  const std::vector<uint32_t> ids{2, 5, 3, 2, 7, 9, 3};
  const std::vector<uint32_t> types(ids.size(), 0);
  const std::vector<uint32_t> offsets{0, 3, 7};
  const auto rehearsal = Open(2, 2);
  ASSERT_TRUE(Succeeded(rehearsal));
  each_us_ = 1000;
  const auto rows = (*rehearsal)->RowsUs({TokenInput{ids, types}, offsets});
  ASSERT_TRUE(Succeeded(rows));
  EXPECT_GE(*rows, 1000);
  EXPECT_TRUE(Succeeded((*rehearsal)->TailUs({TokenInput{ids, types}, offsets})));
  EXPECT_TRUE(Succeeded((*rehearsal)->TailUs({TokenInput{kIds, kTypes}, {}})));
  const std::vector<uint32_t> three{0, 2, 4, 7};
  EXPECT_TRUE(FailedWith((*rehearsal)->TailUs({TokenInput{ids, types}, three}), ErrorKind::kUsage,
                         "a pass of 3 sequences; the plan takes 2"));
}

TEST_F(RehearsalTest, AReadThatFailsIsSaidAndOver) {
  const auto rehearsal = Open();
  ASSERT_TRUE(Succeeded(rehearsal));
  broken_ = true;
  EXPECT_TRUE(FailedWith((*rehearsal)->ShardUs(2, {TokenInput{kIds, kTypes}, {}}),
                         ErrorKind::kReadFailed, "cannot read"));
  EXPECT_TRUE(FailedWith((*rehearsal)->RowsUs({TokenInput{kIds, kTypes}, {}}),
                         ErrorKind::kReadFailed, "cannot read"));
  broken_ = false;
  EXPECT_TRUE(Succeeded((*rehearsal)->ShardUs(2, {TokenInput{kIds, kTypes}, {}})));
  EXPECT_TRUE(Succeeded((*rehearsal)->RowsUs({TokenInput{kIds, kTypes}, {}})));
}

}  // namespace
}  // namespace sti
