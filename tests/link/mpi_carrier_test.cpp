// Ranks of MPI, beyond what every carrier does.
#include "link/mpi_carrier.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "link/frames.h"
#include "link/joint.h"
#include "link/loopback_mpi.h"
#include "support/expect.h"

namespace sti {
namespace {

using Pace = FrameSource::Pace;

// Counts come back with a delay.
void AwaitUntaken(const FrameSink& sink, uint64_t bytes) {
  const auto late = Clock::now() + std::chrono::seconds(10);
  while (sink.untaken_bytes() != bytes && Clock::now() < late) std::this_thread::yield();
  EXPECT_EQ(sink.untaken_bytes(), bytes);
}

TEST(MpiCarrier, ASignIsAByteOfAPassAndTheWriterSeesIt) {
  MpiJoint joint(*LoopbackRanks());
  const auto source = joint.Source(SmallTerms());
  const auto sink = joint.Sink();
  SendWhole(*sink, BytesOfFrame(Heartbeat{}));
  const auto bytes = BytesOfFrame(SomePass());
  SendWhole(*sink, bytes);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(Succeeded(source->Receive(Pace::kSign, Late())));
  AwaitUntaken(*sink, bytes.size());  // all of a heartbeat is taken
  ASSERT_TRUE(Succeeded(source->Receive(Pace::kSign, Late())));
  const size_t body_bytes = bytes.size() - kStreamHeaderBytes;
  AwaitUntaken(*sink, body_bytes);
  ASSERT_TRUE(Succeeded(source->Receive(Pace::kSign, Late())));
  AwaitUntaken(*sink, body_bytes - 1);
}

TEST(MpiCarrier, AWriterIsNeverFarAhead) {
  MpiJoint joint(*LoopbackRanks());
  const auto sink = joint.Sink();
  const std::vector<uint8_t> bytes(size_t{1} << 20);
  uint64_t sent_bytes = 0;
  for (size_t last = 1; last > 0;) {
    const auto sent = sink->Send(bytes, Soon());
    ASSERT_TRUE(Succeeded(sent));
    last = sent->bytes;
    sent_bytes += last;
  }
  EXPECT_GT(sent_bytes, 0U);
  EXPECT_LE(sent_bytes, uint64_t{128} << 10);
  EXPECT_EQ(sink->untaken_bytes(), sent_bytes);
}

TEST(MpiCarrier, LeavesOnceBothSidesOfAllStreamsAreGone) {
  auto ranks = MpiRanks::Join(LoopbackMpi::Plugin());
  ASSERT_TRUE(Succeeded(ranks));
  EXPECT_EQ((*ranks)->rank(), 0U);
  EXPECT_EQ((*ranks)->ranks(), 1U);
  auto source = (*ranks)->Source(0, 1U << 20, SmallTerms(), "frames");
  auto sink = (*ranks)->Sink(0, 1U << 20);
  SendWhole(*sink, BytesOfFrame(SomePass()));
  const auto leaves = [&](Clock::time_point latest) {
    const auto left = (*ranks)->Leave(latest);
    EXPECT_TRUE(Succeeded(left));
    return left.ok() && *left;
  };
  EXPECT_FALSE(leaves(Soon()));
  sink.reset();
  EXPECT_FALSE(leaves(Soon()));
  EXPECT_EQ(ReceiveWhole(*source), FrameSource::Got::kFrame);
  EXPECT_EQ(ReceiveWhole(*source), FrameSource::Got::kEnd);
  source.reset();
  EXPECT_TRUE(leaves(Late()));
}

TEST(MpiCarrier, AnMpiThatFailsIsAnError) {
  auto ranks = MpiRanks::Join(LoopbackMpi::Plugin());
  ASSERT_TRUE(Succeeded(ranks));
  const auto source = (*ranks)->Source(0, 1U << 21, SmallTerms(), "frames of b1");
  const auto sink = (*ranks)->Sink(0, 1U << 21);
  LoopbackMpi::broken = 7;
  EXPECT_TRUE(FailedWith(source->Receive(Pace::kAll, Late()), ErrorKind::kMachine,
                         "frames of b1: MPI has failed (it broke)"));
  EXPECT_TRUE(FailedWith(sink->Send(BytesOfFrame(Heartbeat{}), Late()), ErrorKind::kMachine));
  EXPECT_TRUE(FailedWith((*ranks)->Leave(Late()), ErrorKind::kMachine));
  EXPECT_TRUE(FailedWith(MpiRanks::Join(LoopbackMpi::Plugin()), ErrorKind::kMachine,
                         "cannot join the ranks of MPI (it broke)"));
  LoopbackMpi::broken = 0;
}

TEST(MpiCarrier, APluginThatIsNoneIsAnError) {
  EXPECT_TRUE(FailedWith(MpiRanks::Join("no-such.so"), ErrorKind::kMachine, "no-such.so"));
  EXPECT_TRUE(FailedWith(MpiRanks::Join("libm.so.6"), ErrorKind::kForeign, "another version"));
}

}  // namespace
}  // namespace sti
