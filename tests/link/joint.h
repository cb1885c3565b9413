// A joint is both ends of one stream, for tests that hold of every carrier: another carrier is put
// into AllJoints.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "link/carrier.h"
#include "link/loopback_mpi.h"
#include "link/mpi_carrier.h"
#include "link/pipe_carrier.h"
#include "support/expect.h"

namespace sti {

class Joint {
 public:
  Joint() = default;
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;
  virtual ~Joint() = default;

  virtual std::unique_ptr<FrameSource> Source(const FrameTerms& terms) = 0;
  virtual std::unique_ptr<FrameSink> Sink() = 0;
  /// The process of the source, which nobody uses any more, is gone.
  virtual void CloseSource() = 0;
  virtual void CloseSink() = 0;
};

/// A pipe or a pair of sockets. Nothing of this process dies of a pipe without a reader meanwhile.
class DescriptorJoint final : public Joint {
 public:
  explicit DescriptorJoint(bool sockets) {
    EXPECT_EQ(sockets ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) : ::pipe(ends_.data()),
              0);
  }
  ~DescriptorJoint() override {
    CloseSource();
    CloseSink();
    (void)std::signal(SIGPIPE, before_);
  }

  std::unique_ptr<FrameSource> Source(const FrameTerms& terms) override {
    return std::make_unique<PipeSource>(ends_[0], terms, "frames of b1");
  }
  std::unique_ptr<FrameSink> Sink() override { return std::make_unique<PipeSink>(ends_[1]); }
  void CloseSource() override { Close(0); }
  void CloseSink() override { Close(1); }
  [[nodiscard]] int source_fd() const { return ends_[0]; }
  [[nodiscard]] int sink_fd() const { return ends_[1]; }

 private:
  void Close(size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
  void (*before_)(int) = std::signal(SIGPIPE, SIG_IGN);
};

/// A stream from a rank to itself. What the other side sees of a process that is gone is what it
/// sees of a source or a sink that is gone.
class MpiJoint final : public Joint {
 public:
  explicit MpiJoint(MpiRanks& ranks) : ranks_(ranks) {}
  ~MpiJoint() override {
    CloseSource();
    CloseSink();
  }

  std::unique_ptr<FrameSource> Source(const FrameTerms& terms) override {
    has_source_ = true;
    return ranks_.Source(ranks_.rank(), stream_, terms, "frames of b1");
  }
  std::unique_ptr<FrameSink> Sink() override {
    has_sink_ = true;
    return ranks_.Sink(ranks_.rank(), stream_);
  }
  void CloseSource() override {
    if (!has_source_) Source({});
  }
  void CloseSink() override {
    if (!has_sink_) Sink();
  }

 private:
  static inline uint32_t streams_ = 0;
  MpiRanks& ranks_;
  const uint32_t stream_ = streams_++;
  bool has_source_ = false;
  bool has_sink_ = false;
};

/// Returns the ranks of an MPI that is none, or null where it cannot be joined.
inline MpiRanks* LoopbackRanks() {
  static auto ranks = MpiRanks::Join(LoopbackMpi::Plugin());
  return ranks.ok() ? ranks->get() : nullptr;
}

/// Returns this process as the only rank of Open MPI; null in a build without the plug-in.
inline MpiRanks* OpenMpiRanks() {
  static const std::string plugin = STI_MPI_PLUGIN;
  if (plugin.empty()) return nullptr;
  static auto* const ranks = new auto(MpiRanks::Join(plugin));  // a process leaves but once
  EXPECT_TRUE(Succeeded(*ranks));
  return ranks->ok() ? (**ranks).get() : nullptr;
}

struct JointKind {
  const char* name;
  std::unique_ptr<Joint> (*make)();
};

template <MpiRanks* (*kRanks)()>
std::unique_ptr<Joint> MakeMpiJoint() {
  MpiRanks* const ranks = kRanks();
  return ranks == nullptr ? nullptr : std::make_unique<MpiJoint>(*ranks);
}

template <bool kSockets>
std::unique_ptr<Joint> MakeDescriptorJoint() {
  return std::make_unique<DescriptorJoint>(kSockets);
}

inline auto AllJoints() {
  return ::testing::Values(JointKind{"Pipe", MakeDescriptorJoint<false>},
                           JointKind{"Socket", MakeDescriptorJoint<true>},
                           JointKind{"Mpi", MakeMpiJoint<LoopbackRanks>},
                           JointKind{"OpenMpi", MakeMpiJoint<OpenMpiRanks>});
}

/// Tests that hold of every carrier.
class EachJoint : public ::testing::TestWithParam<JointKind> {
 protected:
  void SetUp() override {
    if (!Make())
      GTEST_SKIP()
          << "no plug-in for Open MPI in this build: it wants libopenmpi-dev, and no sanitizers";
  }
  static std::unique_ptr<Joint> Make() { return GetParam().make(); }
};

inline std::string NameOfJoint(const ::testing::TestParamInfo<JointKind>& info) {
  return info.param.name;
}

inline Clock::time_point Soon() { return Clock::now() + std::chrono::milliseconds(5); }
/// A time that comes if something hangs.
inline Clock::time_point Late() { return Clock::now() + std::chrono::minutes(10); }

/// Sends all of a frame to a reader that is there.
inline void SendWhole(FrameSink& sink, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const auto sent = sink.Send(bytes, Late());
    ASSERT_TRUE(sent.ok() && !sent->left);
    bytes = bytes.subspan(sent->bytes);
  }
}

/// Receives until something other than a part of a frame comes.
inline FrameSource::Got ReceiveWhole(FrameSource& source) {
  for (;;) {
    const auto got = source.Receive(FrameSource::Pace::kAll, Late());
    EXPECT_TRUE(got.ok());
    if (!got.ok()) return FrameSource::Got::kEnd;
    if (*got != FrameSource::Got::kSome) return *got;
  }
}

}  // namespace sti
