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
#include "link/pipe_carrier.h"

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

struct JointKind {
  const char* name;
  std::unique_ptr<Joint> (*make)();
};

inline auto AllJoints() {
  return ::testing::Values(JointKind{"Pipe",
                                     []() -> std::unique_ptr<Joint> {
                                       return std::make_unique<DescriptorJoint>(false);
                                     }},
                           JointKind{"Socket", []() -> std::unique_ptr<Joint> {
                                       return std::make_unique<DescriptorJoint>(true);
                                     }});
}

/// Tests that hold of every carrier.
class EachJoint : public ::testing::TestWithParam<JointKind> {
 protected:
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
