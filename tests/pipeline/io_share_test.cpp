#include "pipeline/io_share.h"

#include <gtest/gtest.h>

#include <array>

namespace sti {
namespace {

// Lanes that always want to read; one read in flight at a time.
TEST(IoShare, LanesGetTheSameBytesWhateverTheirReadsSizes) {
  IoShare share(1);
  const std::array<uint64_t, 3> sizes = {4096, 65536, 262144};
  std::array<uint64_t, 3> served{};
  for (size_t lane = 0; lane < 3; ++lane) ASSERT_EQ(share.Join(), lane);
  for (int round = 0; round < 20000; ++round) {
    uint64_t in_flight = 0;
    for (uint32_t lane = 0; lane < 3; ++lane) {
      if (!share.TryBegin(lane, sizes[lane])) continue;
      served[lane] += in_flight = sizes[lane];
    }
    share.Done(in_flight);
  }
  for (size_t lane = 0; lane < 3; ++lane) {
    EXPECT_LE(served[lane], served[2] + IoShare::kCreditBytes + 2 * 262144);
    EXPECT_LE(served[2], served[lane] + IoShare::kCreditBytes + 2 * 262144);
  }
  EXPECT_GT(served[0], 4'000'000U);
}

TEST(IoShare, BytesInFlightAreBoundedButALargeReadGoesAlone) {
  IoShare share(100);
  const uint32_t lane = share.Join();
  EXPECT_TRUE(share.TryBegin(lane, 60));
  EXPECT_FALSE(share.TryBegin(lane, 60));
  EXPECT_TRUE(share.TryBegin(lane, 40));
  share.Done(60);
  share.Done(40);
  EXPECT_TRUE(share.TryBegin(lane, 1000));
  EXPECT_FALSE(share.TryBegin(lane, 1));
  share.Done(1000);
  EXPECT_TRUE(share.TryBegin(lane, 1));
}

TEST(IoShare, WhoWantedNothingForAWhileGainsLittleCredit) {
  IoShare share(1);
  const uint32_t busy = share.Join();
  const uint32_t idle = share.Join();
  share.Join();  // and one that never reads
  for (int i = 0; i < 10000; ++i) {
    ASSERT_TRUE(share.TryBegin(busy, 1000));
    share.Done(1000);
  }
  // The idle one comes back: it catches up a little, not the ten million bytes, then they take
  // turns.
  uint64_t ahead = 0;
  uint64_t most_ahead = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool idle_read = share.TryBegin(idle, 1000);
    const bool busy_read = share.TryBegin(busy, 1000);
    ASSERT_NE(idle_read, busy_read);
    share.Done(1000);
    if (idle_read) most_ahead = std::max(most_ahead, ahead += 1000);
    if (busy_read) ahead -= std::min<uint64_t>(ahead, 1000);
  }
  EXPECT_GT(most_ahead, 100'000U);
  EXPECT_LE(most_ahead, IoShare::kCreditBytes + 2000);
}

TEST(IoShare, WhoGivesUpOrLeavesStandsInNobodysWay) {
  IoShare share(100);
  const uint32_t a = share.Join();
  const uint32_t b = share.Join();
  ASSERT_TRUE(share.TryBegin(a, 100));
  EXPECT_FALSE(share.TryBegin(b, 50));
  share.Done(100);
  EXPECT_FALSE(share.TryBegin(a, 10)) << "b waits and was served less";
  share.Withdraw(b);
  EXPECT_TRUE(share.TryBegin(a, 10));
  EXPECT_FALSE(share.TryBegin(b, 100));
  EXPECT_FALSE(share.TryBegin(a, 10));
  share.Leave(b);
  EXPECT_TRUE(share.TryBegin(a, 10));
  EXPECT_EQ(share.Join(), b) << "its place is used again";
}

}  // namespace
}  // namespace sti
