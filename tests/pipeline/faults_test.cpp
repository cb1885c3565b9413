// A device that goes wrong below a running pipeline.
#include <array>
#include <chrono>
#include <thread>

#include "base/thread_pool.h"
#include "faulty_pipeline.h"
#include "pipeline/io_share.h"

namespace sti {
namespace {

using namespace std::chrono_literals;

// In this time all reads are begun and come, but those that hang, on a busy machine too.
constexpr double kLong_us = 2.5e6;

class Faults : public FaultyPipelineTest {
 protected:
  static Fault Over(FaultKind kind, const PartLocation& part, uint32_t times = Fault::kAlways,
                    std::chrono::microseconds delay = 0us) {
    return {kind, part.offset, part.length, times, delay, {}};
  }
  [[nodiscard]] const PartLocation& Part(uint32_t layer, uint32_t slice, uint32_t bits) const {
    return index_.shard({layer, slice}).parts[PartAt(bits)];
  }

  /// Whether the pipeline reads on another lane than its first, whose reads are not faulty.
  [[nodiscard]] bool SetAside() {
    return dynamic_cast<FaultReader*>(pipeline_->status().reader) == nullptr;
  }
};

TEST_F(Faults, TornOnceHealsTornForGoodIsAnErrorAndTheNextRunGoesOn) {
  const Plan plan = WholeAt(5);
  const auto expected = Logits(plan);
  PipelineOptions options;
  options.keep_rows = false;
  Open(plan, options);
  const std::array<PartLocation, 3> places = {
      Part(0, 0, 2), Part(3, 2, 5), {index_.words.offset + 5 * index_.words.row_bytes, 8, 0}};
  for (const PartLocation& place : places) {
    faults_->Inject(Over(FaultKind::kTorn, place, 1));
    const auto healed = RunTokens(*pipeline_, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(healed));
    EXPECT_EQ(healed->values, expected);
    EXPECT_GT(faults_->injected(), 0U);
    faults_->Inject(Over(FaultKind::kTorn, place));
    EXPECT_TRUE(
        FailedWith(RunTokens(*pipeline_, kTextIds, kTextTypes), ErrorKind::kDamaged, "is damaged"));
    faults_->Heal();
    const auto after = RunTokens(*pipeline_, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(after));
    EXPECT_EQ(after->values, expected);
  }
}

TEST_F(Faults, ADeviceErrorAtAnyReadEndsTheRunAndNoMore) {
  const Plan plan = Mixed();
  const auto expected = Logits(plan);
  PipelineOptions options;
  options.staging_bytes = 24 * 4096;
  options.keep_rows = false;
  Open(plan, options);
  const uint64_t before = faults_->reads();
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes)));
  const uint64_t reads = faults_->reads() - before;
  ASSERT_GT(reads, 5U);
  for (uint64_t nth = 0; nth < reads; ++nth) {
    Fault fault;
    fault.nth = faults_->reads() + nth;
    faults_->Inject(fault);
    EXPECT_TRUE(FailedWith(RunTokens(*pipeline_, kTextIds, kTextTypes), ErrorKind::kReadFailed));
    faults_->Heal();
    const auto after = RunTokens(*pipeline_, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(after));
    EXPECT_EQ(after->values, expected);
  }
}

TEST_F(Faults, ReadsMayCompleteInAnyOrder) {
  for (const uint64_t staging : {0, 24 * 4096}) {
    PipelineOptions options;
    options.staging_bytes = staging;
    Open(WithPreload(Mixed(), 3), options, true);
    for (int run = 0; run < 5; ++run) {
      const auto result = RunTokens(*pipeline_, kTextIds, kTextTypes);
      ASSERT_TRUE(Succeeded(result));
      EXPECT_EQ(result->values, Logits(Mixed()));
    }
  }
}

TEST_F(Faults, ALateRefinementIsLeftOutAndReported) {
  TinyModelOptions model;
  model.layers = 5;
  model.heads = 4;
  model.hidden = 128;
  model.ffn = 512;
  auto report = WriteTinyContainer(path_, model);  // planes larger than a block
  ASSERT_TRUE(Succeeded(report));
  index_ = report->index;
  Plan plan = Timed(WholeAt(4));
  plan.times->layer_p99_us = 100e3;  // room for who wakes late, so that no slice is left out
  Open(plan);
  const PartLocation& plane = Part(3, 1, 4);
  faults_->Inject(Hanging({plane.offset + plane.length - 1, 1, 0}));
  RunTerms terms;
  terms.degrade_for_us = kLong_us;  // the base is there by then, also where the machine is busy
  RunResult result;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  const auto late =
      std::find_if(result.degraded.begin(), result.degraded.end(), [](const DegradedShard& shard) {
        return shard.id == ShardId{3, 1};
      });
  ASSERT_NE(late, result.degraded.end());
  EXPECT_EQ(late->bits, 2U);
  EXPECT_EQ(late->planned_bits, 4U);
  EXPECT_EQ(result.values, DirectLogits(path_, Degraded(plan, result.degraded)))
      << "it computes with exactly what it says";
  door_.Open();
  terms.degrade_for_us = 60e6;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  EXPECT_TRUE(result.degraded.empty());
  EXPECT_EQ(result.values, Logits(plan));
}

TEST_F(Faults, ASliceWithoutItsBaseIsLeftOutButOneIsWaitedFor) {
  const Plan plan = Timed(WholeAt(2));
  Open(plan);
  faults_->Inject(Hanging(Part(2, 3, 2)));
  RunTerms terms;
  terms.degrade_for_us = kLong_us;
  RunResult result;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  ASSERT_FALSE(result.degraded.empty());
  EXPECT_TRUE(
      std::any_of(result.degraded.begin(), result.degraded.end(), [](const DegradedShard& s) {
        return s.id == ShardId{2, 3} && s.bits == 0;
      }));
  EXPECT_EQ(result.values, DirectLogits(path_, Degraded(plan, result.degraded)));
  // All bases of a layer late: the first that comes is waited for, deadline or not.
  door_.Open();
  Open(plan);
  for (uint32_t slice = 0; slice < 4; ++slice)
    faults_->Inject(Over(FaultKind::kDelay, Part(1, slice, 2), 1, 400ms + slice * 1ms));
  terms.degrade_for_us = 50e3;
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  EXPECT_EQ(result.values, DirectLogits(path_, Degraded(plan, result.degraded)));
  ASSERT_EQ(result.layers.size(), 5U);
  for (const LayerTrace& layer : result.layers) EXPECT_GE(layer.slices, 1U);
}

TEST_F(Faults, AReadThatIsStillUnderWayDoesNotHoldUpTheNextRun) {
  const Plan plan = Timed(WholeAt(2));
  Open(plan);
  RunTerms terms;
  RunResult result;
  terms.degrade_for_us = kLong_us;
  faults_->Inject(Hanging(Part(4, 0, 2)));
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
  ASSERT_FALSE(result.degraded.empty());
  // The read is in flight all the while; these run whole.
  terms.degrade_for_us = 60e6;
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
    EXPECT_TRUE(result.degraded.empty());
    EXPECT_EQ(result.values, Logits(plan));
  }
  EXPECT_TRUE(SetAside());
  std::thread opens([this] {
    std::this_thread::sleep_for(100ms);
    door_.Open();
  });
  const Status set = pipeline_->SetPlan(WholeAt(6));  // which waits for it
  opens.join();
  ASSERT_TRUE(Succeeded(set));
  EXPECT_EQ(RunTokens(*pipeline_, kTextIds, kTextTypes)->values, Logits(WholeAt(6)));
}

TEST_F(Faults, WithoutTimesAPlanCannotBeDegraded) {
  Open(WholeAt(4));
  RunTerms terms;
  terms.degrade_for_us = 1e6;
  RunResult result;
  EXPECT_TRUE(FailedWith(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result),
                         ErrorKind::kUsage, "does not say how long its layers take"));
}

TEST_F(Faults, RandomDelaysNeverChangeWhatWasComputed) {
  TestRandom random(5);
  const Plan plan = Timed(WithPreload(Mixed(), 2));
  PipelineOptions options;
  options.threads = 2;
  RunTerms terms;
  RunResult result;
  for (int round = 0; round < 20; ++round) {
    // Where memory is not bounded, a late lane may be set aside after each run, and the faults with
    // it. Where a read hangs it is after the first, which has time to begin all others.
    const bool bounded = round % 2 == 0;
    const bool hangs = round % 10 == 5;
    options.staging_bytes = bounded ? 40 * 4096 : 0;
    Open(plan, options);
    for (int i = 0; i < 6; ++i) {
      const std::chrono::microseconds delay(random.Below(bounded ? 8000 : 60'000));
      Fault fault{FaultKind::kDelay, 0, UINT64_MAX, 1, delay, {}};
      fault.nth = faults_->reads() + random.Below(60);
      faults_->Inject(fault);
    }
    if (hangs) faults_->Inject(Hanging(Part(4, 0, 2)));
    for (int run = 0; run < 4; ++run) {
      terms.degrade_for_us = 1000.0 + static_cast<double>(random.Below(20000));
      if (hangs && run == 0) terms.degrade_for_us = kLong_us;
      ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes, terms, &result)));
      EXPECT_EQ(result.values, DirectLogits(path_, Degraded(plan, result.degraded))) << round;
    }
    if (hangs) {
      EXPECT_TRUE(SetAside()) << round;
    }
    door_.Open();
  }
}

// Whether a part was read twice is known of one run alone.
TEST_F(Faults, APartThatHealedOnceHealsInEachLaterRun) {
  Open(WholeAt(5));
  const auto expected = DirectLogits(path_, WholeAt(5));
  for (int run = 0; run < 3; ++run) {
    faults_->Inject(Over(FaultKind::kTorn, Part(2, 1, 3), 1));
    const auto result = RunTokens(*pipeline_, kTextIds, kTextTypes);
    ASSERT_TRUE(Succeeded(result)) << run;
    EXPECT_EQ(result->values, expected);
    EXPECT_EQ(faults_->injected(), static_cast<uint64_t>(run) + 1);
  }
}

TEST_F(Faults, AFailedRunGivesItsShareOfTheDeviceBack) {
  IoShare io(64 * 1024);
  PipelineOptions options;
  options.io = &io;
  Open(WholeAt(6), options);
  for (int run = 0; run < 20; ++run) {
    Fault fault;
    fault.nth = faults_->reads() + static_cast<uint64_t>(run % 4);
    faults_->Inject(fault);
    EXPECT_TRUE(FailedWith(RunTokens(*pipeline_, kTextIds, kTextTypes), ErrorKind::kReadFailed));
    faults_->Heal();
  }
  ASSERT_TRUE(Succeeded(RunTokens(*pipeline_, kTextIds, kTextTypes)));
  const uint32_t lane = io.Join();
  EXPECT_TRUE(io.TryBegin(lane, 1 << 20)) << "nothing is in flight, so a large read goes alone";
  pipeline_.reset();  // before what it shares
}

TEST_F(Faults, SeveralPipelinesShareCoresAndDevice) {
  ThreadPool cores(2);
  IoShare io(256 * 1024);
  PipelineOptions options;
  options.cores = &cores;
  options.io = &io;
  const Plan plans[] = {WithPreload(Mixed(), 3), WholeAt(6), WholeAt(2)};
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  for (const Plan& plan : plans) {
    auto pipeline = Make(plan, options);
    ASSERT_TRUE(Succeeded(pipeline));
    pipelines.push_back(std::move(*pipeline));
  }
  std::array<size_t, 3> wrong{};
  std::vector<std::thread> users;
  for (size_t p = 0; p < 3; ++p) {
    users.emplace_back([&, p] {
      const auto expected = DirectLogits(path_, plans[p]);
      for (int run = 0; run < 40; ++run) {
        const auto result = RunTokens(*pipelines[p], kTextIds, kTextTypes);
        if (!result.ok() || result->values != expected) ++wrong[p];
      }
    });
  }
  for (std::thread& user : users) user.join();
  for (size_t p = 0; p < 3; ++p) EXPECT_EQ(wrong[p], 0U) << p;
}

}  // namespace
}  // namespace sti
