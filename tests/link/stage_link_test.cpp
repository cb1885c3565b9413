// Stages that are linked by every carrier. No test asserts how long something takes: losses are
// tested with timeouts that are short, and everything else with one that never comes.
#include "link/stage_link.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <limits>
#include <thread>

#include "link/frames.h"
#include "link/joint.h"
#include "support/expect.h"

namespace sti {
namespace {

using Got = FrameSource::Got;
using Reason = EndFrame::Reason;

constexpr double kShort_us = 100e3;
constexpr double kNever_us = 3600e6;

using EachLink = EachJoint;
INSTANTIATE_TEST_SUITE_P(Joints, EachLink, AllJoints(), NameOfJoint);

StageLinkOptions OptionsOf(const std::string& device, double timeout_us = kNever_us) {
  StageLinkOptions options;
  options.terms = SmallTerms();
  options.timeout_us = timeout_us;
  options.heartbeat_us = 5e3;
  options.device = device;
  const int number = device.back() - '0';
  options.before = "b" + std::to_string(number - 1);
  options.after = "b" + std::to_string(number + 1);
  return options;
}

std::unique_ptr<StageLink> StartLink(std::unique_ptr<FrameSource> source,
                                     std::unique_ptr<FrameSink> sink,
                                     const StageLinkOptions& options) {
  auto link = StageLink::Start(std::move(source), std::move(sink), options);
  EXPECT_TRUE(Succeeded(link));
  return link.ok() ? std::move(*link) : nullptr;
}

// Links a first stage, b1, to a last one, b2.
std::unique_ptr<StageLink> FirstOf(Joint& joint, double timeout_us = kNever_us) {
  return StartLink(nullptr, joint.Sink(), OptionsOf("b1", timeout_us));
}
std::unique_ptr<StageLink> LastOf(Joint& joint, double timeout_us = kNever_us) {
  return StartLink(joint.Source(SmallTerms()), nullptr, OptionsOf("b2", timeout_us));
}

// A pass that tells which it is, and fills a pipe within a few.
PassFrame PassOf(uint64_t which) {
  PassFrame pass = SomePass();
  pass.rows[0] = static_cast<float>(which);
  pass.lines[0].text.assign(20000, 'x');
  return pass;
}

void GivePasses(StageLink& link, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(Succeeded(link.Give(PassOf(i))));
}

// Takes passes, which come in order, until something else comes.
uint64_t TakePasses(StageLink& link, Result<std::optional<PassFrame>>* last) {
  for (uint64_t count = 0;; ++count) {
    *last = link.Next();
    if (!last->ok() || !**last) return count;
    PassFrame expected = PassOf(count);
    expected.number = count;
    expected.took = (**last)->took;
    EXPECT_TRUE(SameFrame(***last, expected)) << count;
  }
}

/// A flag that a thread raises and another waits for.
class Flag {
 public:
  void Raise() { promise_.set_value(); }
  void Await() { promise_.get_future().wait(); }

 private:
  std::promise<void> promise_;
};

TEST_P(EachLink, PassesComeInOrderAndTheStreamEnds) {
  const auto joint = Make();
  const auto first = FirstOf(*joint);
  const auto last = LastOf(*joint);
  std::thread gives([&] {
    GivePasses(*first, 50);
    EXPECT_TRUE(Succeeded(first->Finish({})));
  });
  Result<std::optional<PassFrame>> next = std::optional<PassFrame>();
  EXPECT_EQ(TakePasses(*last, &next), 50U);
  gives.join();
  EXPECT_TRUE(next.ok() && !*next);
  EXPECT_TRUE(Succeeded(last->Finish({})));
  EXPECT_FALSE(first->output_closed());
}

TEST_P(EachLink, AStageInTheMiddleReceivesAndSends) {
  const auto before = Make();
  const auto after = Make();
  const auto first = FirstOf(*before);
  const auto middle = StartLink(before->Source(SmallTerms()), after->Sink(), OptionsOf("b2"));
  const auto last = StartLink(after->Source(SmallTerms()), nullptr, OptionsOf("b3"));
  std::thread gives([&] {
    GivePasses(*first, 20);
    EXPECT_TRUE(Succeeded(first->Finish({})));
  });
  std::thread forwards([&] {
    for (;;) {
      auto next = middle->Next();
      ASSERT_TRUE(Succeeded(next));
      if (!*next) break;
      middle->NoteWork(true);
      middle->NoteLayer();
      (*next)->took.push_back({.compute_us = 7});
      middle->NoteWork(false);
      ASSERT_TRUE(Succeeded(middle->Give(std::move(**next))));
    }
    EXPECT_TRUE(Succeeded(middle->Finish({})));
  });
  Result<std::optional<PassFrame>> next = std::optional<PassFrame>();
  EXPECT_EQ(TakePasses(*last, &next), 20U);
  EXPECT_TRUE(next.ok() && !*next);
  gives.join();
  forwards.join();
}

TEST_P(EachLink, AStreamMayHaveNoPass) {
  const auto joint = Make();
  const auto first = FirstOf(*joint);
  const auto last = LastOf(*joint);
  EXPECT_TRUE(Succeeded(first->Finish({})));
  const auto next = last->Next();
  EXPECT_TRUE(next.ok() && !*next);
}

TEST_P(EachLink, AnEndSaysWhichStageFailedBehindItsPasses) {
  const auto joint = Make();
  const auto first = FirstOf(*joint);
  const auto last = LastOf(*joint);
  GivePasses(*first, 2);
  EXPECT_TRUE(Succeeded(first->Finish({0, Reason::kFailed, "b0", "cannot read the model"})));
  Result<std::optional<PassFrame>> next = std::optional<PassFrame>();
  EXPECT_EQ(TakePasses(*last, &next), 2U);
  EXPECT_TRUE(FailedWith(next, ErrorKind::kMachine, "b0: cannot read the model"));
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kMachine, "b0: cannot read the model"));
}

TEST_P(EachLink, AnEndGoesOnAsItCame) {
  using Source = std::pair<EndFrame, ErrorKind>;
  for (const auto& [end, kind] :
       {Source{{0, Reason::kFailed, "b0", "cannot read the model"}, ErrorKind::kMachine},
        Source{{0, Reason::kInterrupted, "b0"}, ErrorKind::kCancelled}}) {
    const auto before = Make();
    const auto after = Make();
    const auto first = FirstOf(*before);
    const auto middle = StartLink(before->Source(SmallTerms()), after->Sink(), OptionsOf("b2"));
    const auto last = StartLink(after->Source(SmallTerms()), nullptr, OptionsOf("b3"));
    EXPECT_TRUE(Succeeded(first->Finish(end)));
    const auto next = middle->Next();
    ASSERT_TRUE(FailedWith(next, kind, "b0: "));
    EXPECT_TRUE(Succeeded(middle->Finish({0, end.reason, "b2", end.what.empty() ? "" : "b0 did"})));
    EXPECT_TRUE(FailedWith(last->Next(), kind, next.error().Message()));
  }
}

TEST_P(EachLink, AnInterruptEndsAWaitAndIsTold) {
  const auto before = Make();
  const auto after = Make();
  Interrupt interrupt;
  StageLinkOptions options = OptionsOf("b2");
  options.interrupt = &interrupt;
  const auto middle = StartLink(before->Source(SmallTerms()), after->Sink(), options);
  const auto last = StartLink(after->Source(SmallTerms()), nullptr, OptionsOf("b3"));
  std::thread raises([&] { interrupt.Raise(); });
  EXPECT_TRUE(FailedWith(middle->Next(), ErrorKind::kCancelled));
  raises.join();
  EXPECT_TRUE(Succeeded(middle->Finish({0, Reason::kInterrupted, "b2"})));
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kCancelled, "b2: interrupted"));
}

TEST_P(EachLink, AnInterruptEndsAWaitForRoom) {
  const auto joint = Make();
  Interrupt interrupt;
  StageLinkOptions options = OptionsOf("b1");
  options.interrupt = &interrupt;
  const auto first = StartLink(nullptr, joint->Sink(), options);
  std::thread raises([&] { interrupt.Raise(); });
  Status given;
  while (given.ok()) given = first->Give(PassOf(0));
  EXPECT_TRUE(FailedWith(given, ErrorKind::kCancelled));
  raises.join();
}

TEST_P(EachLink, AStageThatGoesWithoutAWordIsLost) {
  const auto joint = Make();
  const auto last = LastOf(*joint);
  {
    const auto first = FirstOf(*joint);
    GivePasses(*first, 1);
    const auto next = last->Next();
    ASSERT_TRUE(Succeeded(next));
    ASSERT_TRUE(*next);
  }
  joint->CloseSink();
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kMachine, "the stage before, b1, ended without"));
}

TEST_P(EachLink, ASilentStageIsLost) {
  const auto joint = Make();
  const auto last = LastOf(*joint, kShort_us);
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kMachine,
                         "the stage before, b1, sent nothing for 0.1 s"));
}

TEST_P(EachLink, AStageThatHasWorkAndDoesNoneIsLost) {
  const auto joint = Make();
  const auto last = LastOf(*joint, 10 * kShort_us);
  const auto first = FirstOf(*joint);
  first->NoteWork(true);
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kMachine, "the stage before, b1, "));
}

TEST_P(EachLink, AStageThatStandsSaysSoItself) {
  const auto joint = Make();
  Flag ended;
  StageLinkOptions options = OptionsOf("b2", kShort_us);
  options.on_end = [&] { ended.Raise(); };
  const auto last = StartLink(joint->Source(SmallTerms()), nullptr, options);
  last->NoteWork(true);
  ended.Await();
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kMachine, "this stage, b2, computed no layer"));
}

TEST_P(EachLink, ADamagedFrameEndsTheStreamBehindItsPasses) {
  const auto joint = Make();
  const auto sink = joint->Sink();
  const auto last = LastOf(*joint);
  PassFrame pass = PassOf(0);
  SendWhole(*sink, BytesOfFrame(pass));
  pass.number = 1;
  auto bytes = BytesOfFrame(pass);
  bytes.back() ^= 1;
  SendWhole(*sink, bytes);
  Result<std::optional<PassFrame>> next = std::optional<PassFrame>();
  EXPECT_EQ(TakePasses(*last, &next), 1U);
  EXPECT_TRUE(
      FailedWith(next, ErrorKind::kDamaged, "frames of b1: the body of a frame is damaged"));
}

TEST_P(EachLink, AStageUnderAnotherPlanIsForeign) {
  const auto joint = Make();
  StageLinkOptions options = OptionsOf("b1");
  options.terms.plan.bytes[0] = 77;
  const auto first = StartLink(nullptr, joint->Sink(), options);
  const auto last = LastOf(*joint);
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kForeign, "runs another plan"));
}

TEST_P(EachLink, APassThatNoFrameMayHoldIsNotSent) {
  const auto joint = Make();
  const auto first = FirstOf(*joint);
  PassFrame pass = PassOf(0);
  pass.rows[2] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(Succeeded(first->Give(std::move(pass))));
  EXPECT_TRUE(FailedWith(first->Finish({}), ErrorKind::kDamaged, "not finite"));
  const auto last = LastOf(*joint);
  EXPECT_TRUE(FailedWith(last->Next(), ErrorKind::kMachine, "b1: a pass cannot be sent: a row"));
}

TEST_P(EachLink, AnEndThatNoFrameMayHoldIsAnError) {
  const auto joint = Make();
  const auto first = FirstOf(*joint);
  EXPECT_TRUE(FailedWith(first->Finish({0, Reason::kFailed, "b1", ""}), ErrorKind::kDamaged));
}

TEST_P(EachLink, AReaderThatLeavesEndsAllStagesQuietly) {
  const auto before = Make();
  const auto after = Make();
  Flag left;
  StageLinkOptions options = OptionsOf("b2");
  options.on_end = [&] { left.Raise(); };
  const auto first = FirstOf(*before);
  auto middle = StartLink(before->Source(SmallTerms()), after->Sink(), options);
  after->CloseSource();
  left.Await();
  auto next = middle->Next();
  EXPECT_TRUE(next.ok() && !*next);
  EXPECT_TRUE(middle->output_closed());
  EXPECT_TRUE(Succeeded(middle->Give(PassOf(0))));
  EXPECT_TRUE(Succeeded(middle->Finish({})));
  middle.reset();
  before->CloseSource();
  while (!first->output_closed()) ASSERT_TRUE(Succeeded(first->Give(PassOf(0))));
  EXPECT_TRUE(Succeeded(first->Finish({})));
}

TEST_P(EachLink, AStageThatTakesNothingIsLost) {
  const auto joint = Make();
  const auto first = FirstOf(*joint, kShort_us);
  Status given;
  while (given.ok()) given = first->Give(PassOf(0));
  EXPECT_TRUE(
      FailedWith(given, ErrorKind::kMachine, "the stage after, b2, took nothing for 0.1 s"));
  EXPECT_FALSE(first->output_closed());
  EXPECT_TRUE(FailedWith(first->Finish({}), ErrorKind::kMachine, "the stage after, b2"));
}

TEST_P(EachLink, AnEndWaitsNoLongerThanTheTimeout) {
  for (const bool interrupted : {false, true}) {
    const auto joint = Make();
    Interrupt interrupt;
    StageLinkOptions options = OptionsOf("b1", 4 * kShort_us);
    options.interrupt = &interrupt;
    const auto first = StartLink(nullptr, joint->Sink(), options);
    Status given;
    for (int i = 0; i < 5; ++i) given = first->Give(PassOf(0));
    interrupt.Raise();
    const EndFrame end = interrupted ? EndFrame{0, Reason::kInterrupted, "b1"} : EndFrame{};
    const Status finished = first->Finish(end);
    EXPECT_TRUE(finished.ok() || FailedWith(finished, ErrorKind::kMachine, "the stage after"));
  }
}

TEST_P(EachLink, HeartbeatsGoWhileAStageComputesAndCountItsLayers) {
  const auto joint = Make();
  const auto source = joint->Source(SmallTerms());
  const auto first = FirstOf(*joint);
  first->NoteWork(true);
  uint64_t seen = 0;
  while (seen < 5) {
    ASSERT_EQ(ReceiveWhole(*source), Got::kFrame);
    const auto frame = ParseFrame(source->frame(), SmallTerms(), 0, "frames");
    ASSERT_TRUE(Succeeded(frame));
    const auto& beat = std::get<Heartbeat>(*frame);
    EXPECT_GE(beat.layers_done, seen);
    EXPECT_TRUE(beat.has_work || beat.layers_done == 0);
    seen = beat.layers_done;
    first->NoteLayer();
  }
}

TEST_P(EachLink, DestructorsEndWhateverGoesOn) {
  const auto joint = Make();
  auto first = FirstOf(*joint);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Succeeded(first->Give(PassOf(0))));
  first.reset();  // a pass may be half sent
  const auto other = Make();
  auto last = LastOf(*other);
  last.reset();
}

/// A source that has a pass whenever one is asked for, and counts signs of life.
class EndlessSource final : public FrameSource {
 public:
  explicit EndlessSource(std::atomic<int>* signs) : signs_(signs) {}

  Result<Got> Receive(Pace pace, Clock::time_point /*latest*/) override {
    if (pace == Pace::kSign) {
      ++*signs_;
      return Got::kSome;
    }
    if (begun_ = !begun_; begun_) return Got::kSome;
    PassFrame pass = PassOf(number_);
    pass.number = number_++;
    bytes_ = BytesOfFrame(pass);
    return Got::kFrame;
  }
  [[nodiscard]] bool in_pass() const override { return true; }
  [[nodiscard]] std::span<const uint8_t> frame() const override { return bytes_; }
  void Wake() override {}

 private:
  std::atomic<int>* signs_;
  bool begun_ = false;
  uint64_t number_ = 0;
  std::vector<uint8_t> bytes_;
};

// The clock stands while the queue of a stage is full, and it gives signs of life.
TEST(StageLinkQueues, AStageWithoutRoomLosesNobodyAndLives) {
  std::atomic<int> signs{0};
  const auto last =
      StartLink(std::make_unique<EndlessSource>(&signs), nullptr, OptionsOf("b2", 1e3));
  while (signs < 20) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (uint64_t i = 0; i < 20; ++i) {
    const auto next = last->Next();
    ASSERT_TRUE(Succeeded(next));
    EXPECT_EQ((*next)->number, i);
  }
}

// Carriers that know what a reader has taken.
using KnownReader = EachJoint;
INSTANTIATE_TEST_SUITE_P(Joints, KnownReader,
                         ::testing::Values(JointKind{"Pipe", MakeDescriptorJoint<false>},
                                           JointKind{"Mpi", MakeMpiJoint<LoopbackRanks>}),
                         NameOfJoint);

TEST_P(KnownReader, IsLostIfItTakesNothingThoughThereIsNothingToSend) {
  const auto joint = Make();
  Flag lost;
  StageLinkOptions options = OptionsOf("b1", kShort_us);
  options.on_end = [&] { lost.Raise(); };
  const auto first = StartLink(nullptr, joint->Sink(), options);
  lost.Await();
  EXPECT_TRUE(FailedWith(first->Give(PassOf(0)), ErrorKind::kMachine, "b2, took nothing"));
}

// A reader of answers that takes its time, such as a pager, holds up all stages, and none is lost.
TEST_P(KnownReader, LosesNothingIfItWaitsLongerThanTheTimeout) {
  const auto joint = Make();
  constexpr double kTimeout_us = 3e6;
  const auto first = FirstOf(*joint, kTimeout_us);
  const auto last = LastOf(*joint, kTimeout_us);
  std::thread gives([&] {
    GivePasses(*first, 30);
    EXPECT_TRUE(Succeeded(first->Finish({})));
  });
  std::this_thread::sleep_for(std::chrono::seconds(4));
  Result<std::optional<PassFrame>> next = std::optional<PassFrame>();
  EXPECT_EQ(TakePasses(*last, &next), 30U);
  EXPECT_TRUE(next.ok() && !*next);
  gives.join();
}

}  // namespace
}  // namespace sti
