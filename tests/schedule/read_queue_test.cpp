#include "schedule/read_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "support/expect.h"
#include "support/random.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

constexpr double kOneBlockAMillisecond = kBlockBytes / 1000.0;

// Layers of two shards, each with a base and one refinement of a block; a gap after every part.
class ReadQueueTest : public ::testing::Test {
 protected:
  void Schedule(uint32_t groups, bool apart, uint64_t arena_blocks = 0) {
    std::vector<ShardRequest> requests;
    std::vector<ScheduledPart> parts;
    for (uint32_t group = 0; group < groups; ++group) {
      for (uint32_t slice = 0; slice < 2; ++slice) {
        for (const PartKind kind : {PartKind::kBase, PartKind::kPlane3}) {
          ScheduledPart part;
          part.part = {(parts.size() * 2 + 1) * kBlockBytes, kBlockBytes, 0};
          part.request = static_cast<uint32_t>(requests.size());
          part.kind = kind;
          part.group = group;
          part.refinement = apart && kind == PartKind::kPlane3;
          parts.push_back(part);
        }
        requests.push_back({{group, slice}, 3, group});
      }
    }
    auto schedule = ScheduleParts(requests, parts, {.arena_bytes = arena_blocks * kBlockBytes});
    ASSERT_TRUE(Succeeded(schedule));
    schedule_ = *schedule;
    queue_.Reset(schedule_, groups);
  }
  /// Returns the reads that are begun, in order, when each arrives before the next is chosen: "b0"
  /// a base of group 0, "r1" a refinement of group 1, "e" a range of rows.
  std::string Drain(double rate = 0) {
    std::string order;
    while (auto read = queue_.Next(now_, rate, kBlockBytes)) {
      order += Name(*read) + " ";
      queue_.Arrived(*read);
      if (rate > 0) now_ += Microseconds(static_cast<double>(read->bytes) / rate);
    }
    return order;
  }
  std::string Name(const QueuedRead& read) const {
    if (read.rows) return "e";
    return (schedule_.reads[read.index].refinement ? "r" : "b") + std::to_string(read.group);
  }
  using Moments = std::vector<Clock::time_point>;
  [[nodiscard]] Moments After(std::initializer_list<std::chrono::microseconds> times) const {
    Moments moments;
    for (const auto& time : times) moments.push_back(now_ + time);
    return moments;
  }
  void StartBy(std::initializer_list<std::chrono::microseconds> after) {
    queue_.StartBy(After(after));
  }
  void ShareOut(std::initializer_list<std::chrono::microseconds> latest) {
    queue_.ShareOutTime(After(latest), now_, kOneBlockAMillisecond);
  }
  [[nodiscard]] double StartOf(uint32_t group) const {
    return MicrosecondsBetween(now_, queue_.StartOf(group)) / 1e3;
  }

  LoadSchedule schedule_;
  ReadQueue queue_;
  Clock::time_point now_;
};

TEST_F(ReadQueueTest, RowsFirstThenGroupByGroup) {
  Schedule(3, true);
  queue_.AddRows(2, 2 * kBlockBytes);
  EXPECT_EQ(Drain(), "e e b0 b0 r0 r0 b1 b1 r1 r1 b2 b2 r2 r2 ");
  EXPECT_TRUE(queue_.exhausted());
}

// The groups 0, 3 are the first agent's, 1, 4 the second's, 2 the third's.
TEST_F(ReadQueueTest, AnAgentReadsEveryMthGroup) {
  Schedule(5, false);
  queue_.Reset(schedule_, 5, 3);
  queue_.AddRows(1, kBlockBytes);
  const auto next = [this](uint32_t busy) {
    const auto read = queue_.Next(now_, 0, kBlockBytes, busy);
    return read ? Name(*read) : std::string("nothing");
  };
  EXPECT_EQ(next(0b111), "e") << "rows are no agent's";
  EXPECT_EQ(next(0b000), "b0");
  EXPECT_EQ(next(0b001), "b1");
  EXPECT_EQ(next(0b011), "b2");
  EXPECT_EQ(next(0b111), "nothing");
  EXPECT_EQ(next(0b101), "b1");
  while (next(0b110) != "nothing") {
  }
  for (const char* group : {"b1", "b1", "b4"}) EXPECT_EQ(next(0b101), group);
  EXPECT_EQ(next(0b000), "b2") << "the first has read all its groups";
  EXPECT_FALSE(queue_.exhausted());
  while (next(0) != "nothing") {
  }
  EXPECT_TRUE(queue_.exhausted());
}

TEST_F(ReadQueueTest, AnAgentWaitsForRoomAndHoldsUpNoOther) {
  Schedule(4, false, 12);  // three layers of four blocks
  queue_.Reset(schedule_, 4, 3);
  std::string order;
  while (const auto read = queue_.Next(now_, 0, 0, 0b110)) {
    order += Name(*read) + " ";
    queue_.Arrived(*read);
  }
  EXPECT_EQ(order, "b0 b0 b0 b0 ") << "group 3 overwrites group 0";
  const auto other = queue_.Next(now_, 0, 0);
  ASSERT_TRUE(other);
  EXPECT_EQ(Name(*other), "b1");
  queue_.PutBack(*other);
  queue_.GroupComputed(0);
  EXPECT_EQ(Name(*queue_.Next(now_, 0, 0, 0b110)), "b3");
  EXPECT_EQ(Name(*queue_.Next(now_, 0, 0)), "b1");
}

TEST_F(ReadQueueTest, RowsThatComeLateGoAheadOfTheRest) {
  Schedule(1, false);
  const auto first = queue_.Next(now_, 0, 0);
  ASSERT_TRUE(first.has_value());
  queue_.AddRows(1, kBlockBytes);
  EXPECT_EQ(Drain(), "e b0 b0 b0 ");
  queue_.Arrived(*first);
  EXPECT_FALSE(queue_.GroupMissing(0));
}

TEST_F(ReadQueueTest, WithTimeEnoughTheOrderIsTheSame) {
  Schedule(2, true);
  StartBy({100ms, 200ms, 300ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 r0 r0 b1 b1 r1 r1 ");
}

// Eight reads of 1 ms. The bases of group 1 must be there at 5.5 ms, which leaves room for one
// refinement of group 0; the other waits behind them, and those of group 1 would come too late.
TEST_F(ReadQueueTest, BasesOvertakeRefinementsThatWouldMakeThemLate) {
  Schedule(2, true);
  StartBy({6ms, 5ms + 500us, 20ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 r0 b1 b1 r0 ");
  EXPECT_FALSE(queue_.GroupMissing(0));
  EXPECT_FALSE(queue_.GroupMissing(1)) << "what is left out is not missing";
}

// Reads of 1 ms that are begun and do not arrive. Behind the two bases of group 0 a refinement
// would bring those of group 1 at 5 ms, too late; behind these it would bring those of group 2 at 7
// ms, in time, but a second one would not. What group 1 and 2 lack then comes too late.
TEST_F(ReadQueueTest, BytesInFlightDelayLaterBases) {
  Schedule(3, true);
  StartBy({20ms, 4ms + 500us, 7ms + 500us});
  std::string order;
  while (auto read = queue_.Next(now_, kOneBlockAMillisecond, kBlockBytes))
    order += Name(*read) + " ";
  EXPECT_EQ(order, "b0 b0 b1 b1 r0 b2 b2 r0 ");
}

// The bases of group 1 are there at 4 ms, just in time: no refinement makes them late any more.
TEST_F(ReadQueueTest, AGroupWhoseBasesAreThereHoldsNoRefinementUp) {
  Schedule(3, true);
  StartBy({20ms, 4ms + 500us, 30ms, 40ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 b1 b1 r0 r0 b2 b2 r2 r2 ");
}

TEST_F(ReadQueueTest, ARefinementThatWouldComeTooLateIsLeftOut) {
  Schedule(1, true);
  StartBy({2ms + 500us, 10ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 ");
  EXPECT_FALSE(queue_.GroupMissing(0));
  EXPECT_TRUE(queue_.exhausted());
}

TEST_F(ReadQueueTest, WhatAStartedGroupLacksIsNotReadAnyMore) {
  Schedule(2, true);
  const auto base = queue_.Next(now_, 0, 0);
  ASSERT_TRUE(base.has_value());
  queue_.Arrived(*base);
  EXPECT_EQ(queue_.BasesArrived(0), 1U);
  queue_.GroupStarted(0);
  EXPECT_EQ(Drain(), "b1 b1 r1 r1 ");
}

TEST_F(ReadQueueTest, MemoryOfAGroupIsNotFreeWhileAReadOfItIsInFlight) {
  Schedule(3, false, 4);  // an arena of one group
  std::vector<QueuedRead> first;
  while (auto read = queue_.Next(now_, 0, 0)) first.push_back(*read);
  ASSERT_EQ(first.size(), 4U) << "the next group overwrites this one";
  for (size_t i = 0; i < 3; ++i) queue_.Arrived(first[i]);
  queue_.GroupStarted(0);
  queue_.GroupComputed(0);
  EXPECT_FALSE(queue_.Next(now_, 0, 0).has_value()) << "a late read would land in it";
  queue_.Arrived(first[3]);
  EXPECT_TRUE(queue_.Next(now_, 0, 0).has_value());
}

// A refinement of four blocks would come at 6 ms, too late for group 0; one of a block comes at 3
// ms, and leaves the bases of group 1 time enough.
TEST_F(ReadQueueTest, ReadsThatFailStayMissingAndGiveTheirPlacesBack) {
  Schedule(3, false, 4);
  queue_.AddRows(1, kBlockBytes);
  for (int begun = 0; begun < 2; ++begun) ASSERT_TRUE(queue_.Next(now_, 0, kBlockBytes));
  EXPECT_TRUE(queue_.InFlightFailed());
  EXPECT_FALSE(queue_.InFlightFailed());
  const std::string before = Drain();
  EXPECT_TRUE(queue_.rows_missing());
  EXPECT_TRUE(queue_.GroupMissing(0));
  for (uint32_t group = 0; group < 3; ++group) {
    queue_.GroupStarted(group);
    queue_.GroupComputed(group);
    Drain();
  }
  EXPECT_TRUE(queue_.exhausted());
  EXPECT_TRUE(queue_.GroupMissing(0)) << "it went on without";
  EXPECT_FALSE(queue_.GroupMissing(2)) << "behind " << before;
}

TEST_F(ReadQueueTest, ALargeRefinementThatIsLeftOutDelaysNoSmallOne) {
  std::vector<ScheduledPart> parts;
  uint64_t offset = kBlockBytes;
  const auto add = [&](uint32_t request, PartKind kind, uint64_t blocks) {
    ScheduledPart part;
    part.part = {offset, blocks * kBlockBytes, 0};
    part.request = request;
    part.kind = kind;
    part.group = request / 2;
    part.refinement = kind != PartKind::kBase;
    parts.push_back(part);
    offset += (blocks + 1) * kBlockBytes;
  };
  for (uint32_t request = 0; request < 4; ++request) {
    add(request, PartKind::kBase, 1);
    add(request, PartKind::kPlane3, request == 0 ? 4 : 1);
  }
  const std::vector<ShardRequest> requests{
      {{0, 0}, 3, 0}, {{0, 1}, 3, 0}, {{1, 0}, 3, 1}, {{1, 1}, 3, 1}};
  auto schedule = ScheduleParts(requests, parts, {});
  ASSERT_TRUE(Succeeded(schedule));
  schedule_ = *schedule;
  queue_.Reset(schedule_, 2);
  StartBy({5ms + 500us, 20ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 r0 b1 b1 r1 r1 ");
}

// Ten reads of 1 ms, two of them of rows, four of each of two layers.
TEST_F(ReadQueueTest, TimeIsSharedOutByBytes) {
  Schedule(2, false);
  queue_.Reset(schedule_, 3);  // with the head
  queue_.AddRows(2, 2 * kBlockBytes);
  ShareOut({90ms, 100ms, 101ms});
  EXPECT_NEAR(StartOf(0), 90, 0.01) << "its own";
  EXPECT_NEAR(StartOf(1), 100, 0.01);
  ShareOut({90ms, 15ms, 16ms});  // 10 ms of reads, 5 of slack
  EXPECT_NEAR(StartOf(0), 5 + 6, 0.01);
  EXPECT_NEAR(StartOf(1), 15, 0.01);
  EXPECT_NEAR(StartOf(2), 15, 0.01) << "the head reads nothing";
  ShareOut({90ms, 5ms, 6ms});  // half of the time that reads take
  EXPECT_NEAR(StartOf(0), 3, 1e-5) << "there is no slack";
  EXPECT_NEAR(StartOf(1), 5, 0.01);
  // Anew, once rows have taken more than their share, and then a layer.
  while (queue_.rows_missing()) queue_.Arrived(*queue_.Next(now_, 0, kBlockBytes));
  ShareOut({90ms, 4ms, 5ms});
  EXPECT_NEAR(StartOf(0), 2, 0.01);
  for (int i = 0; i < 4; ++i) queue_.Arrived(*queue_.Next(now_, 0, kBlockBytes));
  queue_.GroupStarted(0);
  ShareOut({90ms, 9ms, 10ms});
  EXPECT_NEAR(StartOf(1), 9, 0.01);
}

// Ten layers of four reads of 1 ms each. Reads that seem to take a little longer than there is time
// may be chance, and the last layers can still do with less; much longer ones are no chance.
TEST_F(ReadQueueTest, ALittleTooLateIsWaitedFor) {
  Schedule(10, true);
  queue_.Reset(schedule_, 11);
  const auto share_out = [this](std::chrono::microseconds last) {
    std::vector<Clock::time_point> moments(11, now_ + 90ms);
    moments[9] = moments[10] = now_ + last;
    queue_.ShareOutTime(moments, now_, kOneBlockAMillisecond);
  };
  share_out(39ms + 500us);
  EXPECT_GT(StartOf(0), 4) << "when its reads have come";
  EXPECT_NEAR(StartOf(9), 39.5, 0.01);
  share_out(36ms);
  EXPECT_NEAR(StartOf(0), 3.6, 0.01) << "its share";
  share_out(39ms + 500us);
  const std::string order = Drain(kOneBlockAMillisecond);
  EXPECT_EQ(std::count(order.begin(), order.end(), 'r'), 19) << order;
  EXPECT_EQ(order.substr(order.size() - 9), "b9 b9 r9 ") << order;
}

// Two layers of two bases and two refinements, of 1 ms each. All of it takes 8 ms, the bases 4.
TEST_F(ReadQueueTest, BasesAreWorthWaitingForLonger) {
  Schedule(2, true);
  queue_.Reset(schedule_, 3);
  ShareOut({90ms, 6ms, 7ms});
  EXPECT_NEAR(StartOf(0), 3, 0.01);
  EXPECT_NEAR(MicrosecondsBetween(now_, queue_.BasesBy(0)), 2000 + 2000, 1);
  EXPECT_NEAR(MicrosecondsBetween(now_, queue_.BasesBy(1)), 6000, 1);
  EXPECT_TRUE(queue_.BasesMissing(0));
  // In the 3 ms of layer 0 its bases and a refinement come; then layer 1 has 3 ms as well.
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 r0 b1 b1 r1 ");
  EXPECT_FALSE(queue_.BasesMissing(0));
}

// Four bases a group of 1 ms each; the first may come at any time, of the others those in time.
TEST_F(ReadQueueTest, ABaseThatWouldComeTooLateIsLeftOutUnlessItIsTheOnlyOne) {
  Schedule(2, false);
  StartBy({2ms + 500us, 4ms + 500us, 9ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 b1 b1 ");
  EXPECT_TRUE(queue_.exhausted());
  Schedule(2, false);
  StartBy({500us, 900us, 9ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b1 ");
  EXPECT_EQ(queue_.BasesArrived(0), 1U);
  EXPECT_FALSE(queue_.GroupMissing(0)) << "what is left out is not missing";
}

// Where the first shard's base has failed none of the group comes: its plane and the second base
// are begun, however late they are. Then there is one, and the second plane is left out.
TEST_F(ReadQueueTest, ABaseThatHasFailedLeavesTheOthersNeeded) {
  Schedule(1, false);
  StartBy({500us, 9ms});
  ASSERT_TRUE(queue_.Next(now_, kOneBlockAMillisecond, 0));
  EXPECT_TRUE(queue_.InFlightFailed());
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "b0 b0 ");
  EXPECT_EQ(queue_.BasesArrived(0), 1U);
}

// A refinement is of no use to a shard without base.
TEST_F(ReadQueueTest, WhatRefinesABaseThatWasLeftOutIsLeftOutToo) {
  Schedule(1, true);
  StartBy({1ms + 500us, 9ms});
  const auto first = queue_.Next(now_, kOneBlockAMillisecond, 0);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(queue_.Next(now_, kOneBlockAMillisecond, 0).has_value()) << "the second base";
  queue_.Arrived(*first);
  StartBy({20ms, 30ms});
  EXPECT_EQ(Drain(kOneBlockAMillisecond), "r0 ") << "of the first shard";
}

TEST_F(ReadQueueTest, ResidentPartsAreMissingUntilTheyArrive) {
  ScheduledPart part;
  part.part = {kBlockBytes, kBlockBytes, 0};
  part.group = 1;
  auto schedule = ScheduleParts({}, std::vector<ScheduledPart>{part}, {});
  ASSERT_TRUE(Succeeded(schedule));
  schedule_ = *schedule;
  queue_.Reset(schedule_, 2);
  EXPECT_FALSE(queue_.ResidentMissing(0));
  EXPECT_TRUE(queue_.ResidentMissing(1));
  Drain();
  EXPECT_FALSE(queue_.ResidentMissing(1));
}

TEST_F(ReadQueueTest, AbandonEndsIt) {
  Schedule(2, true);
  queue_.AddRows(3, 3 * kBlockBytes);
  queue_.Abandon();
  EXPECT_FALSE(queue_.Next(now_, 0, kBlockBytes).has_value());
  EXPECT_TRUE(queue_.exhausted());
}

class PutBack : public ReadQueueTest {
 protected:
  /// Begins with any schedule, and moments that leave time for all, some or none of its reads.
  void Begin(uint64_t seed) {
    random_ = TestRandom(seed);
    groups_ = static_cast<uint32_t>(1 + random_.Below(4));
    started_ = 0;
    in_flight_.clear();
    Schedule(groups_, random_.Below(2) == 0, random_.Below(2) == 0 ? 0 : 4 + random_.Below(8));
    if (random_.Below(2) == 0) queue_.AddRows(1 + random_.Below(3), 3 * kBlockBytes);
    Moments moments(groups_, now_);
    for (uint32_t group = 0; group < groups_; ++group)
      moments[group] += std::chrono::microseconds(random_.Below(6000) * (group + 1));
    if (random_.Below(4) != 0) queue_.StartBy(moments);
    tried_ = queue_;
  }
  static std::optional<QueuedRead> NextOf(ReadQueue& queue, Clock::time_point now) {
    return queue.Next(now, kOneBlockAMillisecond, kBlockBytes);
  }
  /// Takes a read and puts it back. Where others are left out first they stay so: it is not tried.
  bool Try() {
    ReadQueue after = tried_;
    const auto read = NextOf(after, now_);
    if (!read || after.left_out() != tried_.left_out()) return false;
    (void)NextOf(tried_, now_);
    tried_.PutBack(*read);
    return true;
  }
  /// Lets a read in flight arrive, and groups start and be computed, or not.
  void GoOn() {
    if (!in_flight_.empty() && random_.Below(3) != 0) {
      std::swap(in_flight_[random_.Below(in_flight_.size())], in_flight_.back());
      queue_.Arrived(in_flight_.back());
      tried_.Arrived(in_flight_.back());
      in_flight_.pop_back();
    }
    if (started_ == groups_ || random_.Below(12) != 0) return;
    for (ReadQueue* queue : {&queue_, &tried_}) {
      queue->GroupStarted(started_);
      queue->GroupComputed(started_);
    }
    ++started_;
  }
  void ExpectTheSame() {
    for (uint32_t group = 0; group < groups_; ++group) {
      EXPECT_EQ(tried_.BasesMissing(group), queue_.BasesMissing(group));
      EXPECT_EQ(tried_.GroupMissing(group), queue_.GroupMissing(group));
    }
    EXPECT_EQ(tried_.exhausted(), queue_.exhausted());
    EXPECT_EQ(tried_.left_out(), queue_.left_out());
  }

  TestRandom random_{0};
  uint32_t groups_ = 0;
  uint32_t started_ = 0;
  ReadQueue tried_;  ///< as queue_, but for reads that were put back
  std::vector<QueuedRead> in_flight_;
};

// A share of the device among models may have no room for a read. Put back, it is as if it had
// never been chosen: all that is begun, left out and missing later is the same.
TEST_F(PutBack, LeavesNothingBehind) {
  size_t put_back = 0;
  uint64_t left_out = 0;
  for (uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    Begin(seed);
    for (int step = 0; step < 60; ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      now_ += std::chrono::microseconds(random_.Below(1000));
      for (uint64_t tries = random_.Below(3); tries > 0; --tries) put_back += Try() ? 1 : 0;
      const auto read = NextOf(tried_, now_);
      const auto expected = NextOf(queue_, now_);
      ASSERT_EQ(read ? Name(*read) : "", expected ? Name(*expected) : "");
      if (read) {
        ASSERT_EQ(read->index, expected->index);
        in_flight_.push_back(*read);
      }
      GoOn();
      ExpectTheSame();
    }
    left_out += tried_.left_out();
  }
  EXPECT_GT(put_back, 1000U);
  EXPECT_GT(left_out, 100U);
}

}  // namespace
}  // namespace sti
