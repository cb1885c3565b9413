// Several agents of an IO lane, at random: whatever the arena, the streams, the depth and the
// faults, a lane brings each byte once, in its agent's order, and never stands still.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "io/container_file.h"
#include "pipeline/lane/io_lane.h"
#include "schedule/load_schedule.h"
#include "support/expect.h"
#include "support/fault_reader.h"
#include "support/random.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

constexpr uint32_t kLayers = 9;
constexpr uint32_t kHeads = 2;

/// Watches that each agent has one piece in flight, through its stream, in order of its groups. A
/// tag is the index of a read of the schedule.
class WatchingReader final : public BlockReader {
 public:
  WatchingReader(std::unique_ptr<BlockReader> inner, std::shared_ptr<const LoadSchedule> schedule,
                 uint32_t agents)
      : inner_(std::move(inner)),
        schedule_(std::move(schedule)),
        in_flight_of_(agents),
        last_offset_of_(agents),
        bytes(schedule_->reads.size()) {
    DescribeAs(*inner_);
  }
  [[nodiscard]] Status Submit(const ReadRequest& request) override {
    const uint32_t agent = AgentOf(request.tag);
    bytes[request.tag] += request.buffer.size();
    if (in_flight_of_.size() > 1) {
      EXPECT_EQ(in_flight_of_[agent]++, 0U) << "of agent " << agent;
      EXPECT_EQ(request.stream, agent % streams_);
      EXPECT_TRUE(last_offset_of_[agent] < request.offset || again)
          << "agent " << agent << " goes back";
      last_offset_of_[agent] = request.offset;
    } else {
      EXPECT_FALSE(request.stream);
    }
    const Status status = inner_->Submit(request);
    in_flight_ = inner_->in_flight();
    most_in_flight = std::max(most_in_flight, in_flight_);
    return status;
  }
  [[nodiscard]] Result<uint64_t> Wait() override {
    Result<uint64_t> tag = inner_->Wait();
    in_flight_ = inner_->in_flight();
    if (tag.ok()) in_flight_of_[AgentOf(*tag)] = 0;
    return tag;
  }
  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    return inner_->Clone();
  }

 private:
  [[nodiscard]] uint32_t AgentOf(uint64_t tag) const {
    return schedule_->reads[tag].group % static_cast<uint32_t>(in_flight_of_.size());
  }
  std::unique_ptr<BlockReader> inner_;
  std::shared_ptr<const LoadSchedule> schedule_;
  std::vector<uint32_t> in_flight_of_;    ///< [agents] pieces
  std::vector<uint64_t> last_offset_of_;  ///< [agents] of its last piece

 public:
  std::vector<uint64_t> bytes;  ///< [reads] submitted
  uint32_t most_in_flight = 0;
  bool again = false;  ///< a torn read is made once more
};

class AgentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.layers = kLayers;
    model.heads = kHeads;
    model.hidden = 256;
    model.ffn = 256;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
  }

  /// A job, and what goes wrong in it.
  struct Case {
    uint32_t agents = 1;
    uint32_t streams = 1;
    uint32_t depth = 1;
    ReadPath path = ReadPath::kAuto;
    bool reversed = false;
    std::vector<Fault> faults;
  };

  void Schedule(TestRandom& random) {
    std::vector<ShardRequest> requests;
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      for (uint32_t slice = 0; slice < kHeads; ++slice)
        requests.push_back({{layer, slice}, random.Below(2) == 0 ? kFullBits : 6, layer});
    }
    ScheduleLimits limits;
    limits.read_bytes = kBlockBytes << random.Below(10);
    auto schedule = BuildLoadSchedule(index_, requests, limits);
    ASSERT_TRUE(Succeeded(schedule));
    limits.arena_bytes = RoundUp(1 + random.Below(schedule->arena_bytes), kBlockBytes);
    limits.grow = true;  // where one layer takes more
    schedule = BuildLoadSchedule(index_, requests, limits);
    ASSERT_TRUE(Succeeded(schedule));
    schedule_ = std::make_shared<const LoadSchedule>(std::move(*schedule));
    arena_ = AlignedBuffer(schedule_->arena_bytes);
  }

  void Open(const Case& one) {
    auto file = OpenBlockReader(path_, one.path, BlockReader::kMostDepth);
    ASSERT_TRUE(Succeeded(file));
    (*file)->HoldStreams(one.streams);
    auto faulty = std::make_unique<FaultReader>(std::move(*file), one.faults, one.reversed);
    faults_ = faulty.get();
    reader_ = std::make_unique<WatchingReader>(std::move(faulty), schedule_, one.agents);
    lane_ = std::make_unique<IoLane>(*reader_, index_);
  }
  void Start(const Case& one) {
    IoJob job;
    job.schedule = schedule_;
    job.arena = arena_.span();
    job.groups = kLayers;
    job.depth = one.depth;
    job.rows_come = RowsCome::kNever;
    job.agents = one.agents;
    lane_->Start(job);
  }
  void ExpectGroupSound(uint32_t group) {
    for (const ScheduledPart& part : schedule_->parts) {
      if (part.group != group) continue;
      EXPECT_TRUE(Succeeded(CheckScheduledPart(*schedule_, part, arena_.span(), path_)));
    }
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  std::shared_ptr<const LoadSchedule> schedule_;
  AlignedBuffer arena_;
  FaultReader* faults_ = nullptr;
  std::unique_ptr<WatchingReader> reader_;
  std::unique_ptr<IoLane> lane_;
};

TEST_F(AgentsTest, AnyNumberBringsEachByteOnce) {
  TestRandom random(65);
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_NO_FATAL_FAILURE(Schedule(random));
    Case one;
    one.agents = 1 + static_cast<uint32_t>(random.Below(kMaxReadStreams));
    one.streams = 1 + static_cast<uint32_t>(random.Below(one.agents));
    one.depth = 1 + static_cast<uint32_t>(random.Below(BlockReader::kMostDepth));
    one.path = std::vector{ReadPath::kAuto, ReadPath::kBuffered}[random.Below(2)];
    one.reversed = random.Below(4) == 0;
    for (uint64_t delays = random.Below(6); delays > 0; --delays) {
      one.faults.push_back({.kind = FaultKind::kDelay,
                            .delay = std::chrono::microseconds(random.Below(3000)),
                            .nth = random.Below(2 * schedule_->reads.size())});
    }
    uint64_t torn_bytes = 0;
    if (random.Below(3) == 0) {
      const ScheduledRead& torn = schedule_->reads[random.Below(schedule_->reads.size())];
      one.faults.push_back(
          {.kind = FaultKind::kTorn, .offset = torn.offset, .length = torn.length, .times = 1});
      torn_bytes = torn.length;
    }
    ASSERT_NO_FATAL_FAILURE(Open(one));
    reader_->again = torn_bytes > 0;
    Start(one);
    for (uint32_t group = 0; group < kLayers; ++group) {
      ASSERT_TRUE(Succeeded(lane_->WaitForGroup(group)));
      ExpectGroupSound(group);
      lane_->GroupComputed(group);
    }
    ASSERT_TRUE(Succeeded(lane_->WaitIdle()));
    IoReport report;
    lane_->Stop(&report);
    EXPECT_EQ(report.bytes, schedule_->read_bytes + torn_bytes);
    for (size_t i = 0; i < schedule_->reads.size(); ++i) {
      const ScheduledRead& read = schedule_->reads[i];
      EXPECT_TRUE(reader_->bytes[i] == read.length ||
                  (torn_bytes > 0 && reader_->bytes[i] == 2 * read.length));
    }
    lane_.reset();
  }
}

// All groups find a place at once; the first read of the first agent hangs.
TEST_F(AgentsTest, ReadSideBySide) {
  TestRandom random(1);
  Schedule(random);
  std::vector<ShardRequest> requests = schedule_->requests;
  auto schedule = BuildLoadSchedule(index_, requests);
  ASSERT_TRUE(Succeeded(schedule));
  schedule_ = std::make_shared<const LoadSchedule>(std::move(*schedule));
  arena_ = AlignedBuffer(schedule_->arena_bytes);
  Door door;
  door.Close();
  Case one;
  one.agents = one.streams = 4;
  one.faults.push_back({.kind = FaultKind::kHang,
                        .offset = schedule_->reads[0].offset,
                        .length = schedule_->reads[0].length,
                        .door = &door});
  Open(one);
  Start(one);
  for (const uint32_t group : {1U, 2U, 3U, 5U, 6U, 7U})
    EXPECT_TRUE(Succeeded(lane_->WaitForGroup(group)));
  EXPECT_EQ(reader_->most_in_flight, 4U);
  EXPECT_FALSE(lane_->CanStart(4, true)) << "it is the first agent's too";
  door.Open();
  for (const uint32_t group : {0U, 4U, 8U}) EXPECT_TRUE(Succeeded(lane_->WaitForGroup(group)));
  lane_.reset();
}

TEST_F(AgentsTest, AReadThatFailsStopsThemAll) {
  TestRandom random(2);
  for (uint32_t agents = 2; agents <= kMaxReadStreams; agents += 3) {
    ASSERT_NO_FATAL_FAILURE(Schedule(random));
    Case one;
    one.agents = one.streams = agents;
    const ScheduledRead& bad = schedule_->reads[random.Below(schedule_->reads.size())];
    one.faults.push_back({.kind = FaultKind::kError, .offset = bad.offset, .length = bad.length});
    Open(one);
    Start(one);
    Status failed;
    for (uint32_t group = 0; group < kLayers && failed.ok(); ++group) {
      failed = lane_->WaitForGroup(group);
      lane_->GroupComputed(group);
    }
    EXPECT_TRUE(FailedWith(failed, ErrorKind::kReadFailed));
    EXPECT_TRUE(lane_->HasFailed());
    EXPECT_TRUE(Succeeded(lane_->WaitIdle()));
    // The lane is as good as new.
    faults_->Heal();
    lane_.reset();
    one.faults.clear();
    Open(one);
    Start(one);
    for (uint32_t group = 0; group < kLayers; ++group) {
      EXPECT_TRUE(Succeeded(lane_->WaitForGroup(group)));
      lane_->GroupComputed(group);
    }
    lane_.reset();
  }
}

}  // namespace
}  // namespace sti
