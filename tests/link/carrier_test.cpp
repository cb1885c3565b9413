// Every carrier, and those of descriptors.
#include "link/carrier.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "link/frames.h"
#include "link/joint.h"
#include "link/pipe_carrier.h"
#include "support/expect.h"

namespace sti {
namespace {

using Got = FrameSource::Got;
using Pace = FrameSource::Pace;

using EveryCarrier = EachJoint;
INSTANTIATE_TEST_SUITE_P(Joints, EveryCarrier, AllJoints(), NameOfJoint);

FrameTerms WideTerms() {
  FrameTerms terms = SmallTerms();
  terms.hidden = 16384;
  terms.length = 64;
  return terms;
}

// A pass of 4 MiB, more than any carrier holds.
PassFrame LargePass() {
  PassFrame pass;
  pass.lines.resize(1);
  pass.lines[0].tokens = 64;
  pass.rows.assign(size_t{64} * 16384, 0.25F);
  return pass;
}

TEST_P(EveryCarrier, MovesFramesInOrder) {
  const auto joint = Make();
  const auto source = joint->Source(SmallTerms());
  const auto sink = joint->Sink();
  for (uint64_t i = 0; i < 5; ++i) {
    for (const Frame& frame : {Frame(Heartbeat{i, i, false}), Frame(SomePass(i))}) {
      const auto bytes = BytesOfFrame(frame);
      SendWhole(*sink, bytes);
      ASSERT_EQ(ReceiveWhole(*source), Got::kFrame);
      EXPECT_TRUE(std::ranges::equal(source->frame(), bytes));
      EXPECT_EQ(source->in_pass(), frame.index() == 0);
    }
  }
}

TEST_P(EveryCarrier, MovesAFrameThatIsLargerThanWhatItHolds) {
  const auto joint = Make();
  const auto source = joint->Source(WideTerms());
  const auto sink = joint->Sink();
  const auto bytes = BytesOfFrame(LargePass(), WideTerms());
  std::thread sends([&] { SendWhole(*sink, bytes); });
  EXPECT_EQ(ReceiveWhole(*source), Got::kFrame);
  sends.join();
  EXPECT_TRUE(std::ranges::equal(source->frame(), bytes));
}

TEST_P(EveryCarrier, WaitsNoLongerThanAsked) {
  const auto joint = Make();
  const auto source = joint->Source(WideTerms());
  const auto sink = joint->Sink();
  const auto got = source->Receive(Pace::kAll, Soon());
  ASSERT_TRUE(Succeeded(got));
  EXPECT_EQ(*got, Got::kNothing);
  const auto bytes = BytesOfFrame(LargePass(), WideTerms());
  std::span<const uint8_t> rest(bytes);
  for (size_t sent_bytes = 1; sent_bytes > 0;) {
    const auto sent = sink->Send(rest, Soon());
    ASSERT_TRUE(Succeeded(sent));
    EXPECT_FALSE(sent->left);
    sent_bytes = sent->bytes;
    rest = rest.subspan(sent_bytes);
  }
  EXPECT_FALSE(rest.empty());
}

TEST_P(EveryCarrier, AWaitEndsByWake) {
  const auto joint = Make();
  const auto source = joint->Source(SmallTerms());
  source->Wake();
  auto got = source->Receive(Pace::kAll, Late());
  ASSERT_TRUE(Succeeded(got));
  EXPECT_EQ(*got, Got::kNothing);
  std::thread wakes([&] { source->Wake(); });
  got = source->Receive(Pace::kAll, Late());
  wakes.join();
  ASSERT_TRUE(Succeeded(got));
  EXPECT_EQ(*got, Got::kNothing);
}

TEST_P(EveryCarrier, TellsThatNothingWillCome) {
  for (const size_t cut : {size_t{0}, size_t{10}, size_t{70}}) {
    const auto joint = Make();
    const auto source = joint->Source(SmallTerms());
    const auto bytes = BytesOfFrame(SomePass());
    SendWhole(*joint->Sink(), std::span(bytes).first(cut));
    joint->CloseSink();
    EXPECT_EQ(ReceiveWhole(*source), Got::kEnd);
  }
}

TEST_P(EveryCarrier, TellsThatTheReaderHasLeft) {
  const auto joint = Make();
  const auto sink = joint->Sink();
  joint->CloseSource();
  const auto bytes = BytesOfFrame(Heartbeat{});
  for (bool left = false; !left;) {  // it may take a moment to come
    const auto sent = sink->Send(bytes, Late());
    ASSERT_TRUE(Succeeded(sent));
    left = sent->left;
  }
}

TEST_P(EveryCarrier, RefusesAHeaderBeforeMemoryIsTaken) {
  const auto joint = Make();
  const auto source = joint->Source(SmallTerms());
  const auto bytes = BytesOfFrame(LargePass(), WideTerms());
  SendWhole(*joint->Sink(), std::span(bytes).first(kStreamHeaderBytes));
  const auto got = source->Receive(Pace::kAll, Late());
  EXPECT_TRUE(FailedWith(got, ErrorKind::kDamaged, "frames of b1: a frame is larger"));
}

TEST(PipeCarrier, PutsFramesTogetherByteByByte) {
  DescriptorJoint joint(false);
  PipeSource source(joint.source_fd(), SmallTerms(), "frames");
  const auto bytes = BytesOfFrame(SomePass());
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(::write(joint.sink_fd(), &bytes[i], 1), 1);
    const auto got = source.Receive(Pace::kAll, Late());
    ASSERT_TRUE(Succeeded(got));
    ASSERT_EQ(*got, i + 1 < bytes.size() ? Got::kSome : Got::kFrame);
  }
  EXPECT_TRUE(std::ranges::equal(source.frame(), bytes));
}

TEST(PipeCarrier, ASignIsAByteOfAPassAndTheWriterSeesIt) {
  DescriptorJoint joint(false);
  PipeSource source(joint.source_fd(), SmallTerms(), "frames");
  PipeSink sink(joint.sink_fd());
  SendWhole(sink, BytesOfFrame(Heartbeat{}));
  const auto bytes = BytesOfFrame(SomePass());
  SendWhole(sink, bytes);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Succeeded(source.Receive(Pace::kSign, Late())));
  EXPECT_EQ(sink.untaken_bytes(), bytes.size());  // all of a heartbeat is taken
  ASSERT_TRUE(Succeeded(source.Receive(Pace::kSign, Late())));
  EXPECT_TRUE(source.in_pass());
  const size_t body_bytes = bytes.size() - kStreamHeaderBytes;
  EXPECT_EQ(sink.untaken_bytes(), body_bytes);
  for (size_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(Succeeded(source.Receive(Pace::kSign, Late())));
    EXPECT_EQ(sink.untaken_bytes(), body_bytes - i);
  }
  EXPECT_EQ(ReceiveWhole(source), Got::kFrame);
  EXPECT_EQ(sink.untaken_bytes(), 0U);
}

// Stdin and stdout may be those of a terminal, which a shell goes on using.
TEST(PipeCarrier, LeavesTheFlagsOfDescriptorsAsTheyAre) {
  for (const bool sockets : {false, true}) {
    for (const int flag : {0, O_NONBLOCK}) {
      DescriptorJoint joint(sockets);
      for (const int fd : {joint.source_fd(), joint.sink_fd()}) {
        ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | flag), 0);
      }
      const int before = ::fcntl(joint.sink_fd(), F_GETFL);
      const auto source = joint.Source(SmallTerms());
      const auto sink = joint.Sink();
      SendWhole(*sink, BytesOfFrame(SomePass()));
      EXPECT_EQ(::fcntl(joint.sink_fd(), F_GETFL), before);
      EXPECT_EQ(ReceiveWhole(*source), Got::kFrame);
      EXPECT_EQ(::fcntl(joint.source_fd(), F_GETFL) & O_NONBLOCK, flag);
    }
  }
}

TEST(PipeCarrier, ADescriptorThatIsNoneIsAnError) {
  PipeSource source(-1, SmallTerms(), "frames of b1");
  PipeSink sink(1 << 20);
  EXPECT_TRUE(FailedWith(sink.Send(BytesOfFrame(Heartbeat{}), Late()), ErrorKind::kMachine));
  const auto got = source.Receive(Pace::kAll, Soon());
  EXPECT_TRUE(!got.ok() || *got == Got::kNothing);
}

}  // namespace
}  // namespace sti
