// The IO lane alone: large reads, which it makes in pieces.
#include "pipeline/lane/io_lane.h"

#include "io/container_file.h"
#include "model/embedding_rows.h"
#include "schedule/load_schedule.h"
#include "support/expect.h"
#include "support/fault_reader.h"
#include "support/hanging_reader.h"
#include "support/temp_folder.h"
#include "support/test_container.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

struct Submitted {
  uint64_t offset = 0;
  uint64_t length = 0;
};

/// Notes what is submitted. Read from it while the lane waits or is idle.
class NotingReader final : public BlockReader {
 public:
  explicit NotingReader(std::unique_ptr<BlockReader> inner) : inner_(std::move(inner)) {
    DescribeAs(*inner_);
  }
  [[nodiscard]] Status Submit(const ReadRequest& request) override {
    submitted.push_back({request.offset, request.buffer.size()});
    const Status status = inner_->Submit(request);
    in_flight_ = inner_->in_flight();
    most_in_flight = std::max(most_in_flight, in_flight_);
    return status;
  }
  [[nodiscard]] Result<uint64_t> Wait() override {
    Result<uint64_t> tag = inner_->Wait();
    in_flight_ = inner_->in_flight();
    return tag;
  }
  [[nodiscard]] Result<std::unique_ptr<BlockReader>> Clone() const override {
    return inner_->Clone();
  }

  std::vector<Submitted> submitted;
  uint32_t most_in_flight = 0;

 private:
  std::unique_ptr<BlockReader> inner_;
};

/// A lane over a container of two layers, each of one shard of 768 KiB at full fidelity.
class IoLaneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyModelOptions model;
    model.heads = 1;
    model.hidden = 256;
    model.ffn = 256;
    auto report = WriteTinyContainer(path_, model);
    ASSERT_TRUE(Succeeded(report));
    index_ = report->index;
    const std::vector<ShardRequest> requests = {{{0, 0}, kFullBits, 0}, {{1, 0}, kFullBits, 1}};
    ScheduleLimits limits;
    limits.read_bytes = kBlockBytes;
    auto schedule = BuildLoadSchedule(index_, requests, limits);
    ASSERT_TRUE(Succeeded(schedule));
    schedule_ = std::make_shared<const LoadSchedule>(std::move(*schedule));
    ASSERT_EQ(schedule_->reads.size(), 2U) << "a part is one read";
    EXPECT_EQ(schedule_->piece_bytes, ScheduleLimits::kLeastPieceBytes);
    ASSERT_GE(schedule_->reads[0].length, 6 * schedule_->piece_bytes);
    arena_ = AlignedBuffer(schedule_->arena_bytes);
  }
  void TearDown() override { door_.Open(); }

  void Open(uint32_t depth) {
    lane_.reset();
    auto file = OpenBlockReader(path_);
    ASSERT_TRUE(Succeeded(file));
    auto faulty = std::make_unique<FaultReader>(std::move(*file));
    faults_ = faulty.get();
    reader_ =
        std::make_unique<NotingReader>(std::make_unique<HangingReader>(std::move(faulty), door_));
    depth_ = depth;
    lane_ = std::make_unique<IoLane>(*reader_, index_);
  }
  void Start(RowsCome rows = RowsCome::kNever, bool tolerant = false) {
    reader_->submitted.clear();
    IoJob job;
    job.schedule = schedule_;
    job.arena = arena_.span();
    job.groups = 2;
    job.depth = depth_;
    job.rows_come = rows;
    job.tolerant = tolerant;
    lane_->Start(job);
  }
  Status ReadAll() {
    Start();
    STI_RETURN_IF_ERROR(lane_->WaitForGroup(0));
    STI_RETURN_IF_ERROR(lane_->WaitForGroup(1));
    return lane_->WaitIdle();
  }
  void ExpectArenaSound() {
    for (const ScheduledPart& part : schedule_->parts)
      EXPECT_TRUE(Succeeded(CheckScheduledPart(*schedule_, part, arena_.span(), path_)));
  }
  /// The bytes that were submitted of each read of the schedule.
  std::vector<uint64_t> BytesOfReads() {
    std::vector<uint64_t> bytes(schedule_->reads.size());
    for (const Submitted& piece : reader_->submitted) {
      for (size_t i = 0; i < bytes.size(); ++i) {
        const ScheduledRead& read = schedule_->reads[i];
        const bool within =
            piece.offset >= read.offset && piece.offset + piece.length <= read.offset + read.length;
        if (within) bytes[i] += piece.length;
      }
    }
    return bytes;
  }

  TempFolder folder_;
  std::string path_ = folder_.File("a.sti");
  ContainerIndex index_;
  std::shared_ptr<const LoadSchedule> schedule_;
  uint32_t depth_ = 1;
  AlignedBuffer arena_;
  Door door_;
  FaultReader* faults_ = nullptr;
  std::unique_ptr<NotingReader> reader_;
  std::unique_ptr<IoLane> lane_;
};

TEST_F(IoLaneTest, ALargeReadIsMadeInPiecesInOrder) {
  for (const uint32_t depth : {1U, 3U, 8U}) {
    Open(depth);
    ASSERT_TRUE(Succeeded(ReadAll()));
    ExpectArenaSound();
    EXPECT_EQ(reader_->most_in_flight, depth);
    uint64_t end = schedule_->reads[0].offset;
    for (const Submitted& piece : reader_->submitted) {
      EXPECT_TRUE(piece.offset == end || piece.offset == schedule_->reads[1].offset);
      EXPECT_LT(piece.length, 2 * schedule_->piece_bytes);
      end = piece.offset + piece.length;
    }
    EXPECT_EQ(BytesOfReads(),
              (std::vector{schedule_->reads[0].length, schedule_->reads[1].length}));
  }
}

TEST_F(IoLaneTest, RowsThatComeMeanwhileDoNotWaitForTheRestOfIt) {
  Open(1);
  door_.Close();
  Start(RowsCome::kLater);
  door_.AwaitHanging();
  const uint32_t last = index_.info.shape.vocabulary - 1;
  const std::vector<uint32_t> ids = {0, last / 2, last};  // in blocks of their own
  const EmbeddingReads rows = PlanEmbeddingReads(index_, ids, 0);
  AlignedBuffer blocks(rows.bytes);
  lane_->ReadTableRows(rows, blocks.span());
  door_.Open();
  ASSERT_TRUE(Succeeded(lane_->WaitForTableRows()));
  ASSERT_TRUE(Succeeded(lane_->WaitForGroup(1)));
  ASSERT_TRUE(Succeeded(lane_->WaitIdle()));
  ASSERT_GT(reader_->submitted.size(), rows.ranges.size());
  for (size_t i = 0; i < rows.ranges.size(); ++i)
    EXPECT_EQ(reader_->submitted[1 + i].offset, rows.ranges[i].offset) << "behind one piece";
  ASSERT_GT(rows.ranges.size(), 1U);
  EXPECT_EQ(reader_->most_in_flight, rows.ranges.size()) << "rows at once, pieces one by one";
  ExpectArenaSound();
}

TEST_F(IoLaneTest, TheRestOfALargeReadIsLeftWhereNobodyWaits) {
  Open(1);
  door_.Close();
  Start();
  door_.AwaitHanging();
  IoReport report;
  lane_->Stop(&report);
  door_.Open();
  ASSERT_TRUE(Succeeded(lane_->WaitIdle()));
  EXPECT_EQ(reader_->submitted.size(), 1U);
  EXPECT_EQ(report.bytes, 0U);
  for (const PartSet& parts : lane_->arrived()) EXPECT_EQ(parts, PartSet());
  ASSERT_TRUE(Succeeded(ReadAll())) << "the next job knows nothing of it";
  ExpectArenaSound();
}

TEST_F(IoLaneTest, APieceThatComesTornIsReadAgainWithTheOthers) {
  const ScheduledRead& second = schedule_->reads[1];
  for (const uint64_t at : {uint64_t{0}, schedule_->piece_bytes, second.length - 4096}) {
    Open(4);
    faults_->Inject({FaultKind::kTorn, second.offset + at, 4096, 1, 0us, {}});
    ASSERT_TRUE(Succeeded(ReadAll()));
    ExpectArenaSound();
    EXPECT_EQ(BytesOfReads(), (std::vector{schedule_->reads[0].length, 2 * second.length})) << at;
    faults_->Inject({FaultKind::kTorn, second.offset + at, 4096, Fault::kAlways, 0us, {}});
    EXPECT_TRUE(FailedWith(ReadAll(), ErrorKind::kDamaged, "is damaged"));
    ASSERT_TRUE(Succeeded(lane_->WaitIdle()));
    faults_->Heal();
    ASSERT_TRUE(Succeeded(ReadAll()));
    ExpectArenaSound();
  }
}

TEST_F(IoLaneTest, APieceThatFailsEndsItsReadAndOfATolerantJobNoOther) {
  for (const uint64_t nth : {uint64_t{0}, uint64_t{5}}) {
    Open(4);
    Fault fault;
    fault.nth = nth;
    faults_->Inject(fault);
    EXPECT_TRUE(FailedWith(ReadAll(), ErrorKind::kReadFailed));
    ASSERT_TRUE(Succeeded(lane_->WaitIdle()));
    faults_->Heal();

    fault.nth = faults_->reads() + nth;
    faults_->Inject(fault);
    Start(RowsCome::kNever, true);
    EXPECT_TRUE(Succeeded(lane_->WaitForGroup(1)));
    EXPECT_TRUE(FailedWith(lane_->WaitForGroup(0), ErrorKind::kReadFailed));
    ASSERT_TRUE(Succeeded(lane_->WaitIdle()));
    faults_->Heal();
    ASSERT_TRUE(Succeeded(ReadAll()));
    ExpectArenaSound();
  }
}

}  // namespace
}  // namespace sti
