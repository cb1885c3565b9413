// Frames through file descriptors: a pipe of a shell, what ssh or socat make of one, or a socket.
// The descriptors are mostly stdin and stdout, which other processes may share, so their flags stay
// as they are, and neither a read nor a write is begun that could wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "link/carrier.h"
#include "link/frame.h"

namespace sti {

/// A wait for a descriptor that any thread may end.
class DescriptorWait {
 public:
  DescriptorWait();
  ~DescriptorWait();
  DescriptorWait(const DescriptorWait&) = delete;
  DescriptorWait& operator=(const DescriptorWait&) = delete;

  /// Waits until `latest` for `events` of poll. Returns those that are there; 0 if none came, after
  /// Wake, or after a signal.
  Result<short> For(int fd, short events, Clock::time_point latest);
  /// Ends a wait, or the next one. Thread-safe.
  void Wake();

 private:
  int wake_fd_;  ///< -1 if the system gave none: waits are short then
};

/// Frames from a descriptor, which stays the caller's.
class PipeSource final : public FrameSource {
 public:
  /// `name` is the place of errors.
  PipeSource(int fd, const FrameTerms& terms, std::string name);

  Result<Got> Receive(Pace pace, Clock::time_point latest) override;
  [[nodiscard]] bool in_pass() const override { return frame_.in_pass(); }
  [[nodiscard]] std::span<const uint8_t> frame() const override { return frame_.bytes(); }
  void Wake() override { wait_.Wake(); }

 private:
  const int fd_;
  DescriptorWait wait_;
  ComingFrame frame_;
};

/// Frames to a descriptor, which stays the caller's. The thread that sends holds SIGPIPE back.
class PipeSink final : public FrameSink {
 public:
  explicit PipeSink(int fd);

  Result<Sent> Send(std::span<const uint8_t> rest, Clock::time_point latest) override;
  /// Knows of a pipe alone, and what a program that passes bytes on has taken of it.
  [[nodiscard]] std::optional<uint64_t> untaken_bytes() const override;
  void Wake() override { wait_.Wake(); }

 private:
  Result<Sent> SendNow(std::span<const uint8_t> rest);

  const int fd_;
  bool is_pipe_ = false;
  bool is_socket_ = false;
  DescriptorWait wait_;
};

}  // namespace sti
