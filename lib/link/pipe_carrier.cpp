#include "link/pipe_carrier.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sti {
namespace {

// A wait that nothing can end is no longer.
constexpr double kShortWait_us = 100e3;

// Whole milliseconds, rounded up, as poll counts: never so early that a caller would turn round and
// round, and within what an int holds.
int MillisecondsUntil(Clock::time_point latest) {
  constexpr double kMost = 3600e3;
  const double left = MicrosecondsBetween(Clock::now(), latest) / 1000;
  return left <= 0 ? 0 : static_cast<int>(std::min(left, kMost)) + 1;
}

Error SystemError(const char* what, int number) {
  return MachineError(std::string(what) + " (" + std::strerror(number) + ")");
}

bool IsPassing(int number) { return number == EAGAIN || number == EWOULDBLOCK || number == EINTR; }

}  // namespace

DescriptorWait::DescriptorWait() : wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

DescriptorWait::~DescriptorWait() {
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void DescriptorWait::Wake() {
  const uint64_t one = 1;
  if (wake_fd_ >= 0) (void)!::write(wake_fd_, &one, sizeof(one));
}

Result<short> DescriptorWait::For(int fd, short events, Clock::time_point latest) {
  if (wake_fd_ < 0) latest = std::min(latest, Clock::now() + Microseconds(kShortWait_us));
  std::array<pollfd, 2> both{{{fd, events, 0}, {wake_fd_, POLLIN, 0}}};
  const int there = ::poll(both.data(), both.size(), MillisecondsUntil(latest));
  if (there < 0 && !IsPassing(errno)) return SystemError("cannot wait for a stage", errno);
  if (there <= 0) return short{0};
  uint64_t count = 0;
  if (both[1].revents != 0) (void)!::read(wake_fd_, &count, sizeof(count));
  return both[0].revents;
}

PipeSource::PipeSource(int fd, const FrameTerms& terms, std::string name)
    : fd_(fd), frame_(terms, std::move(name)) {}

// Reads what is there: poll has said that a read does not wait.
Result<FrameSource::Got> PipeSource::Receive(Pace pace, Clock::time_point latest) {
  frame_.GoOn();
  STI_ASSIGN_OR_RETURN(const short there, wait_.For(fd_, POLLIN, latest));
  if (there == 0) return Got::kNothing;
  const std::span<uint8_t> room = frame_.Room(pace);
  const ssize_t count = ::read(fd_, room.data(), room.size());
  const int number = errno;
  STI_ASSIGN_OR_RETURN(const Got got, frame_.Put(static_cast<size_t>(std::max<ssize_t>(count, 0))));
  if (count > 0) return got;
  if (count == 0 || number == ECONNRESET) return Got::kEnd;
  if (IsPassing(number)) return Got::kNothing;
  return SystemError("cannot read frames", number).At(frame_.name());
}

PipeSink::PipeSink(int fd) : fd_(fd) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return;
  is_pipe_ = S_ISFIFO(about.st_mode);
  is_socket_ = S_ISSOCK(about.st_mode);
}

std::optional<uint64_t> PipeSink::untaken_bytes() const {
  int bytes = 0;
  if (!is_pipe_ || ::ioctl(fd_, FIONREAD, &bytes) != 0 || bytes < 0) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

Result<FrameSink::Sent> PipeSink::Send(std::span<const uint8_t> rest, Clock::time_point latest) {
  STI_ASSIGN_OR_RETURN(const short there, wait_.For(fd_, POLLOUT, latest));
  if (there == 0) return Sent{};
  return SendNow(rest);
}

// Writes what there is room for. A socket is told not to wait; a pipe that poll finds writable has
// room for PIPE_BUF bytes, whether it waits or not.
Result<FrameSink::Sent> PipeSink::SendNow(std::span<const uint8_t> rest) {
  const ssize_t count = is_socket_
                            ? ::send(fd_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                            : ::write(fd_, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
  if (count >= 0) return Sent{.bytes = static_cast<size_t>(count)};
  if (errno == EPIPE || errno == ECONNRESET) return Sent{.left = true};
  if (IsPassing(errno)) return Sent{};
  return SystemError("cannot send frames", errno);
}

}  // namespace sti
