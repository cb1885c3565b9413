// slow-link: a filter from stdin to stdout, as a link of a given rate and delay.
//
//   ... | slow-link --rate 30Mbit --delay 20ms | ...
//
// No byte leaves before an ideal link would have delivered it: bytes go onto the link one after
// another at its rate, from when they are read, and come off it `delay` later. They leave in pieces
// of a millisecond, each when its last byte is due, and the last of what has been read when that is
// due. Each piece has its own absolute deadline, so that a late wake-up delays that piece and not
// the link. What is on the link is in memory: as much as fits between its ends, and a little that
// waits to go on. More is not read, so that a writer is held up as by a full socket. The end of the
// input comes as late as a byte would. Ends with 141 and says nothing once nobody reads its output.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr char kUsage[] =
    "usage: slow-link --rate RATE [--delay TIME]\n"
    "Copies stdin to stdout as a link of so many bits a second would, TIME later.\n"
    "  --rate RATE    1kbit to 100Gbit: a number, then bit, kbit, Mbit or Gbit\n"
    "  --delay TIME   0us to 60s: a number, then us, ms or s [0us]\n"
    "Rate times delay is at most 1 GiB, which it keeps in memory.\n";

constexpr int kUsageError = 2;
constexpr int kMachineError = 1;
constexpr int kNobodyReads = 141;

constexpr double kNsPerS = 1e9;
constexpr double kLeastBitsPerS = 1e3;
constexpr double kMostBitsPerS = 1e11;
constexpr double kMostDelayNs = 60e9;
constexpr double kMostBytes = 1 << 30;
constexpr double kPieceNs = 1e6;
// Bytes that wait for the link keep it busy while this process sleeps longer than it should.
constexpr double kWaitingNs = 20e6;
constexpr double kLeastWaitingBytes = 65536;
// A pipe that takes anything takes so much without a wait.
constexpr size_t kWriteBytes = 4096;

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 4> kRates = {{{"bit", 1}, {"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}}};
constexpr std::array<Unit, 3> kTimes = {{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

struct Options {
  double bytes_per_ns = 0;
  double delay_ns = 0;
};

/// Returns a decimal number times the unit behind it.
template <size_t N>
std::optional<double> Quantity(std::string_view text, const std::array<Unit, N>& units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  const std::string_view name(rest, static_cast<size_t>(end - rest));
  for (const Unit& unit : units) {
    if (unit.name == name) return number * unit.factor;
  }
  return std::nullopt;
}

/// Returns the options, or what is wrong with them in `problem`.
std::optional<Options> Parse(int argc, char** argv, std::string* problem) {
  std::optional<double> bits_per_s;
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name != "--rate" && name != "--delay") {
      *problem = "no such option; use --rate and --delay";
      return std::nullopt;
    }
    const std::optional<double> value =
        i + 1 == argc
            ? std::nullopt
            : (name == "--rate" ? Quantity(argv[i + 1], kRates) : Quantity(argv[i + 1], kTimes));
    if (name == "--rate") {
      if (!value || *value < kLeastBitsPerS || *value > kMostBitsPerS) {
        *problem = "--rate: not a rate from 1kbit to 100Gbit, such as 30Mbit";
        return std::nullopt;
      }
      bits_per_s = value;
    } else {
      if (!value || *value < 0 || *value > kMostDelayNs) {
        *problem = "--delay: not a time from 0us to 60s, such as 20ms";
        return std::nullopt;
      }
      options.delay_ns = *value;
    }
  }
  if (!bits_per_s) {
    *problem = "--rate is missing; give one such as 30Mbit";
    return std::nullopt;
  }
  options.bytes_per_ns = *bits_per_s / 8 / kNsPerS;
  if (options.bytes_per_ns * options.delay_ns > kMostBytes) {
    *problem = "more than 1 GiB would be on the link; lower --rate or --delay";
    return std::nullopt;
  }
  return options;
}

/// Nanoseconds since the first call.
double NowNs() {
  static const time_t start_s = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
  }();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - start_s) * kNsPerS + static_cast<double>(now.tv_nsec);
}

/// The bytes on the link, and when each comes off it. Times are those of NowNs.
class Link {
 public:
  explicit Link(const Options& options)
      : options_(options), ring_(Capacity(options)), end_ns_(options.delay_ns) {}

  [[nodiscard]] size_t space() const { return ring_.size() - held_; }
  [[nodiscard]] bool empty() const { return held_ == 0; }
  /// Returns a place for bytes that are to be put on the link, of at most space() bytes.
  [[nodiscard]] std::pair<char*, size_t> Free() {
    const size_t begin = (begin_ + held_) % ring_.size();
    return {ring_.data() + begin, std::min(space(), ring_.size() - begin)};
  }
  /// Puts so many bytes of the free place on the link now; of none, the end of the input.
  void Put(size_t bytes, double now_ns) {
    held_ += bytes;
    if (bytes > 0 && !runs_.empty() && now_ns <= busy_until_ns_) {
      runs_.back().bytes += static_cast<double>(bytes);
    } else if (bytes > 0) {
      busy_until_ns_ = std::max(busy_until_ns_, now_ns);
      runs_.push_back({busy_until_ns_, static_cast<double>(bytes), 0, 0});
    }
    busy_until_ns_ += static_cast<double>(bytes) / options_.bytes_per_ns;
    end_ns_ = std::max(busy_until_ns_, now_ns) + options_.delay_ns;
  }

  /// Returns bytes that are due, in one piece of memory; none before the next piece is due.
  [[nodiscard]] std::string_view Due(double now_ns) {
    if (runs_.empty()) return {};
    Run& run = runs_.front();
    const double off =
        std::floor((now_ns - options_.delay_ns - run.begin_ns) * options_.bytes_per_ns);
    if (off >= EndOfPiece(run)) run.due = std::min(off, run.bytes);
    const auto bytes = static_cast<size_t>(run.due - run.taken);
    return {ring_.data() + begin_, std::min(bytes, ring_.size() - begin_)};
  }
  /// Takes so many bytes that were due off the link.
  void Take(size_t bytes) {
    Run& run = runs_.front();
    run.taken += static_cast<double>(bytes);
    if (run.taken >= run.bytes) runs_.pop_front();
    begin_ = (begin_ + bytes) % ring_.size();
    held_ -= bytes;
  }
  /// Returns when the next piece is due; of an empty link, when the end of the input is.
  [[nodiscard]] double NextNs() const {
    if (runs_.empty()) return end_ns_;
    const Run& run = runs_.front();
    return run.begin_ns + EndOfPiece(run) / options_.bytes_per_ns + options_.delay_ns;
  }

 private:
  /// Bytes that went onto the link with no pause between them.
  struct Run {
    double begin_ns;  // when the first began to go on
    double bytes;
    double due;    // of these, those of pieces that have come off
    double taken;  // of these, those that have left
  };

  static size_t Capacity(const Options& options) {
    const double waiting = std::max(kLeastWaitingBytes, options.bytes_per_ns * kWaitingNs);
    return static_cast<size_t>(options.bytes_per_ns * options.delay_ns + waiting);
  }
  /// Returns which byte of a run, counted from 1, ends the piece that comes off next.
  [[nodiscard]] double EndOfPiece(const Run& run) const {
    const double piece = std::max(1.0, std::floor(options_.bytes_per_ns * kPieceNs));
    return run.due + std::min(piece, run.bytes - run.due);
  }

  const Options options_;
  std::vector<char> ring_;
  size_t begin_ = 0;  // of what is held, in the ring
  size_t held_ = 0;
  std::deque<Run> runs_;
  double busy_until_ns_ = 0;
  double end_ns_;  // when the end of the input is due, if it is read
};

/// Copies until the end of the input is due. Returns the exit code.
int Copy(Link* link) {
  bool at_end = false;
  while (true) {
    const double now_ns = NowNs();
    const std::string_view due = link->Due(now_ns);
    if (at_end && link->empty() && now_ns >= link->NextNs()) return 0;
    std::array<pollfd, 2> ends{{{STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
    if (at_end || link->space() == 0) ends[0].fd = -1;
    if (!due.empty()) ends[1].events = POLLOUT;
    // Once something is due only its reader is waited for, and more of the input.
    const bool has_time = due.empty() && (at_end || !link->empty());
    const double left_ns = std::max(0.0, std::ceil(link->NextNs() - now_ns));
    const timespec wait{.tv_sec = static_cast<time_t>(left_ns / kNsPerS),
                        .tv_nsec = static_cast<long>(std::fmod(left_ns, kNsPerS))};
    if (ppoll(ends.data(), ends.size(), has_time ? &wait : nullptr, nullptr) < 0) {
      if (errno == EINTR) continue;
      return kMachineError;
    }
    if ((ends[1].revents & (POLLERR | POLLHUP)) != 0) return kNobodyReads;
    if ((ends[1].revents & POLLNVAL) != 0) {
      errno = EBADF;
      return kMachineError;
    }
    if ((ends[1].revents & POLLOUT) != 0) {
      const ssize_t written = write(STDOUT_FILENO, due.data(), std::min(due.size(), kWriteBytes));
      if (written > 0) link->Take(static_cast<size_t>(written));
      if (written < 0 && errno == EPIPE) return kNobodyReads;
      if (written < 0 && errno != EINTR && errno != EAGAIN) return kMachineError;
    }
    if (ends[0].revents != 0) {
      const auto [place, bytes] = link->Free();
      const ssize_t got = read(STDIN_FILENO, place, bytes);
      if (got < 0 && errno != EINTR && errno != EAGAIN) return kMachineError;
      if (got < 0) continue;
      link->Put(static_cast<size_t>(got), NowNs());
      at_end = got == 0;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  std::string problem;
  const std::optional<Options> options = Parse(argc, argv, &problem);
  if (!options) {
    std::fprintf(stderr, "slow-link: %s\n", problem.c_str());
    return kUsageError;
  }
  signal(SIGPIPE, SIG_IGN);
  // Wake on time: by default the kernel adds up to 50 us to a sleep.
  prctl(PR_SET_TIMERSLACK, 1UL);
  Link link(*options);
  const int code = Copy(&link);
  if (code == kMachineError) std::fprintf(stderr, "slow-link: %s\n", std::strerror(errno));
  return code;
}
