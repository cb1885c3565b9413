// Interrupted pipelines: whoever no longer wants an answer does not wait for reads that hang, and
// what comes next is as if nothing had been.
#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

#include "pipeline_world.h"
#include "support/fault_reader.h"
#include "support/hanging_reader.h"

namespace sti {
namespace {

class Interrupted : public PipelineTest {
 protected:
  void TearDown() override { door_.Open(); }

  // Over a reader that may hang and fail. The door is open.
  void Open(const Plan& plan, bool lazy = false) {
    auto reader = OpenBlockReader(path_);
    ASSERT_TRUE(Succeeded(reader));
    auto faults = std::make_unique<FaultReader>(std::move(*reader));
    faults_ = faults.get();
    OpenOver(std::make_unique<HangingReader>(std::move(faults), door_), plan, lazy);
  }

  void OpenOver(std::unique_ptr<BlockReader> reader, const Plan& plan, bool lazy = false) {
    PipelineOptions options;
    options.threads = 2;
    options.interrupt = &interrupt_;
    options.lazy = lazy;
    auto pipeline = MakeOver(std::move(reader), plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    pipeline_ = std::move(*pipeline);
  }

  // Calls `work` while reads hang, and raises the interrupt once one does. Returns what `work`
  // returned while they still hung.
  template <typename Work>
  Status WhileReadsHang(Work work) {
    door_.Close();
    std::thread other([this] {
      door_.AwaitHanging();
      interrupt_.Raise();
    });
    Status status = work();
    other.join();
    interrupt_.Clear();
    return status;
  }

  [[nodiscard]] Status Run() { return RunTokens(*pipeline_, kTextIds, kTextTypes, {}, &result_); }

  Interrupt interrupt_;
  Door door_;
  FaultReader* faults_ = nullptr;
  RunResult result_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(Interrupted, ARunEndsWhileItsReadsHang) {
  const Plan plan = WithPreload(Mixed(), 3);
  Open(plan);
  EXPECT_TRUE(FailedWith(WhileReadsHang([&] { return Run(); }), ErrorKind::kCancelled));
  EXPECT_EQ(pipeline_->status().lane, LaneState::kTrailing) << "its reads are still in flight";
  door_.Open();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.values, DirectLogits(path_, plan));
}

TEST_F(Interrupted, TheNextRunCanBeInterruptedWhileItWaitsForReadsOfTheLast) {
  Open(WholeAt(4));
  for (int run = 0; run < 3; ++run) {
    EXPECT_TRUE(FailedWith(WhileReadsHang([&] { return Run(); }), ErrorKind::kCancelled));
  }
  door_.Open();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.values, DirectLogits(path_, WholeAt(4)));
}

TEST_F(Interrupted, NothingIsComputedOnceItIsRaised) {
  Open(WholeAt(4));
  interrupt_.Raise();
  EXPECT_TRUE(FailedWith(Run(), ErrorKind::kCancelled));
  EXPECT_TRUE(result_.layers.empty());
  EXPECT_TRUE(FailedWith(Run(), ErrorKind::kCancelled)) << "until it is cleared";
  interrupt_.Clear();
  ASSERT_TRUE(Succeeded(Run()));
}

TEST_F(Interrupted, ARunEndsBehindTheLayerAtHand) {
  const Plan plan = WholeAt(4);
  Open(plan);
  PassOutput output;
  RunReport report;
  auto run = pipeline_->Begin({TokenInput{kTextIds, kTextTypes}, {}}, {}, &output, &report);
  ASSERT_TRUE(Succeeded(run));
  const Pass pass{TokenInput{kTextIds, kTextTypes}, {}};
  ASSERT_TRUE(Succeeded((*run)->Embed(pass)));
  ASSERT_TRUE(Succeeded((*run)->Layers(0, 2)));
  interrupt_.Raise();
  const Status status = (*run)->Layers(2, 5);
  EXPECT_TRUE(FailedWith(status, ErrorKind::kCancelled));
  EXPECT_EQ(report.layers.size(), 2U);
  EXPECT_FALSE(pipeline_->End(status).ok());
  interrupt_.Clear();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.values, DirectLogits(path_, plan));
}

TEST_F(Interrupted, AnEngagementGoesOnWhereItWas) {
  TestRandom random(11);
  const Plan plan = WithTurns(WithPreload(Mixed(), 2), 3, random);
  Open(plan);
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_TRUE(FailedWith(WhileReadsHang([&] { return Run(); }), ErrorKind::kCancelled));
  door_.Open();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.turn, 2U);
  Plan second = plan;
  second.bits = plan.turns[1].bits;
  EXPECT_EQ(result_.values, DirectLogits(path_, second));
}

TEST_F(Interrupted, EveryCallThatWaitsForReads) {
  const Plan plan = WithPreload(WholeAt(4), 4);
  Open(plan);
  door_.Close();
  ASSERT_TRUE(Succeeded(pipeline_->Wake())) << "which waits for nothing";
  door_.AwaitHanging();
  EXPECT_TRUE(FailedWith(WhileReadsHang([&] { return pipeline_->Wake(); }), ErrorKind::kCancelled));
  EXPECT_TRUE(
      FailedWith(WhileReadsHang([&] { return pipeline_->LoadAhead(); }), ErrorKind::kCancelled));
  EXPECT_TRUE(
      FailedWith(WhileReadsHang([&] { return pipeline_->EndTurns(); }), ErrorKind::kCancelled));
  EXPECT_TRUE(FailedWith(WhileReadsHang([&] { return pipeline_->ResizePreload(1 << 20); }),
                         ErrorKind::kCancelled));
  EXPECT_TRUE(FailedWith(WhileReadsHang([&] { return pipeline_->SetPlan(WholeAt(6)); }),
                         ErrorKind::kCancelled));
  door_.Open();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.values, DirectLogits(path_, plan)) << "the old plan: its reads were waited for";
}

TEST_F(Interrupted, APlanWhoseLoadingIsInterruptedLeavesTheOldOneInForce) {
  TestRandom random(5);
  const Plan old = WithTurns(WithPreload(WholeAt(4), 3), 3, random);
  Open(old);
  ASSERT_TRUE(Succeeded(Run()));
  const uint64_t held = pipeline_->status().preload_bytes;
  const uint64_t resident = pipeline_->status().resident_bytes;
  const uint64_t staging = pipeline_->status().staging_bytes;
  const Plan plan = WithPreload(Mixed(), 6);
  EXPECT_TRUE(
      FailedWith(WhileReadsHang([&] { return pipeline_->SetPlan(plan); }), ErrorKind::kCancelled));
  EXPECT_EQ(pipeline_->status().lane, LaneState::kTrailing) << "its reads are still in flight";
  EXPECT_EQ(pipeline_->plan().bits, old.bits);
  door_.Open();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.turn, 2U) << "the engagement goes on";
  Plan second = old;
  second.bits = old.turns[1].bits;
  EXPECT_EQ(result_.values, DirectLogits(path_, second));
  ASSERT_TRUE(Succeeded(pipeline_->EndTurns()));
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(pipeline_->status().preload_bytes, held);
  EXPECT_EQ(pipeline_->status().resident_bytes, resident);
  EXPECT_EQ(pipeline_->status().staging_bytes, staging);
}

// One read has failed while another still hangs, and lands in memory of the new plan.
TEST_F(Interrupted, APlanWhoseLoadingFailsAndIsInterruptedLeavesTheOldOneToo) {
  auto reader = OpenBlockReader(path_);
  ASSERT_TRUE(Succeeded(reader));
  auto faults =
      std::make_unique<FaultReader>(std::make_unique<HangingReader>(std::move(*reader), door_));
  faults_ = faults.get();
  OpenOver(std::move(faults), WholeAt(4));
  const Plan plan = WithPreload(WholeAt(6), 6);
  faults_->Inject({.kind = FaultKind::kError, .times = 1});
  EXPECT_TRUE(
      FailedWith(WhileReadsHang([&] { return pipeline_->SetPlan(plan); }), ErrorKind::kCancelled));
  door_.Open();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.values, DirectLogits(path_, WholeAt(4)));
}

TEST_F(Interrupted, APlanThatCannotBeLoadedLeavesTheOldOneRunning) {
  const Plan old = WithPreload(WholeAt(4), 4);
  Open(old);
  const uint64_t held = pipeline_->status().preload_bytes;
  faults_->Inject({.kind = FaultKind::kError});
  EXPECT_TRUE(FailedWith(pipeline_->SetPlan(WithPreload(WholeAt(6), 6)), ErrorKind::kReadFailed));
  faults_->Heal();
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(result_.values, DirectLogits(path_, old));
  EXPECT_EQ(pipeline_->status().preload_bytes, held);
}

}  // namespace
}  // namespace sti
