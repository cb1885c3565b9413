// flashfs: a folder as a slow flash device shows it.
//
// A read-only FUSE view. Every read costs what it would cost on an ideal device: a fixed latency,
// then its bytes over one bus of B bytes a second that all requests share, in order of arrival. A
// read is answered at that time and never before. Slowness is smooth because each answer has its
// own absolute deadline: nothing is handed out in slices, and a late wake-up delays one answer, not
// the device. The page cache is bypassed, so that reading twice costs twice.
//
// On request each open file has a bus of its own besides (--each): no more comes through one open
// file, however little the others take, as on systems that share a device out among those who read.
//
// Only reads of file contents cost time: looking names up is free. On request the device is a bad
// one (--fault): it fails, tears or delays what touches some range of any of its files. Or it has
// another rate (--slowed). Either may begin and end while the view is mounted (--while).
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/cli.h"
#include "common/parse.h"
#include "common/tool.h"
#include "flash_faults.h"

namespace sti {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr unsigned kMaxInFlight = 128;

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

/// The one clock of the device.
class Device {
 public:
  explicit Device(int64_t latency_ns) : latency_ns_(latency_ns) {}

  /// When a read of `bytes` that arrives now is complete at this rate. Latencies overlap, transfers
  /// do not.
  int64_t Complete(uint64_t bytes, double bytes_per_second) {
    const auto transfer_ns =
        static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / bytes_per_second);
    bus_free_ns_ = std::max(bus_free_ns_, NowNs() + latency_ns_) + transfer_ns;
    return bus_free_ns_;
  }

  [[nodiscard]] int64_t latency_ns() const { return latency_ns_; }

 private:
  const int64_t latency_ns_;
  int64_t bus_free_ns_ = 0;
};

/// Keeps a record of answers that came later than the device's, because the machine woke nobody in
/// time: a line of a file for each, with the time at which it was due, in seconds of the monotonic
/// clock, and by how many microseconds it was late.
class LateAnswers {
 public:
  /// Begins with an empty file; keeps no record where `path` is empty.
  explicit LateAnswers(const std::string& path) {
    if (path.empty()) return;
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  }
  ~LateAnswers() {
    if (file_ >= 0) close(file_);
  }
  LateAnswers(const LateAnswers&) = delete;
  LateAnswers& operator=(const LateAnswers&) = delete;

  [[nodiscard]] bool has_file() const { return file_ >= 0; }
  /// Takes note of an answer that is to come at this time, and comes now.
  void Note(int64_t deadline_ns) const {
    const int64_t late_ns = NowNs() - deadline_ns;
    if (file_ < 0 || late_ns < kLateNs) return;
    std::array<char, 64> line{};
    const int size = std::snprintf(line.data(), line.size(), "%lld.%09lld %lld\n",
                                   static_cast<long long>(deadline_ns / kNanosecondsPerSecond),
                                   static_cast<long long>(deadline_ns % kNanosecondsPerSecond),
                                   static_cast<long long>(late_ns / 1000));
    // A record that cannot be kept is no reason to answer wrongly.
    static_cast<void>(!write(file_, line.data(), static_cast<size_t>(size)));
  }

 private:
  static constexpr int64_t kLateNs = 300'000;

  int file_ = -1;
};

/// The state that the operations share: FUSE hands it to each.
struct View {
  int root = -1;
  Device device;
  FlashFaults faults;
  LateAnswers late;
  double bytes_per_second = 0;
  double each = 0;                     // of an open file; 0: all of it
  std::map<uint64_t, Device> of_file;  // by its descriptor, where each has a bus of its own
  double slowed = 0;                   // the rate while the device is broken; 0: the same
  std::string broken;                  // it is while this file exists; always if empty
};

bool IsBroken(const View& view) {
  return view.broken.empty() || access(view.broken.c_str(), F_OK) == 0;
}

View& ThisView() { return *static_cast<View*>(fuse_get_context()->private_data); }

/// FUSE paths begin with '/'; the view's root is a folder already open.
const char* Relative(const char* path) { return path[1] == '\0' ? "." : path + 1; }

void* Init(fuse_conn_info* connection, fuse_config* config) {
  config->direct_io = 1;  // past the page cache
  // Requests of asynchronous direct reads are "background"; the default of 12 would bound depth.
  connection->max_background = kMaxInFlight;
  connection->congestion_threshold = kMaxInFlight;
  return fuse_get_context()->private_data;
}

int GetAttributes(const char* path, struct stat* result, fuse_file_info* file) {
  const int status = file != nullptr
                         ? fstat(static_cast<int>(file->fh), result)
                         : fstatat(ThisView().root, Relative(path), result, AT_SYMLINK_NOFOLLOW);
  return status == 0 ? 0 : -errno;
}

int ReadLink(const char* path, char* buffer, size_t size) {
  const ssize_t length = readlinkat(ThisView().root, Relative(path), buffer, size - 1);
  if (length < 0) return -errno;
  buffer[length] = '\0';
  return 0;
}

int Open(const char* path, fuse_file_info* file) {
  if ((file->flags & O_ACCMODE) != O_RDONLY) return -EROFS;
  // Not the caller's flags: O_DIRECT would ask for aligned buffers of libfuse.
  const int descriptor = openat(ThisView().root, Relative(path), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -errno;
  file->fh = static_cast<uint64_t>(descriptor);
  file->direct_io = 1;
  return 0;
}

int Release(const char* /*path*/, fuse_file_info* file) {
  ThisView().of_file.erase(file->fh);
  close(static_cast<int>(file->fh));
  return 0;
}

FlashFaults::Outcome Strike(View& view, uint64_t offset, uint64_t bytes) {
  if (IsBroken(view)) return view.faults.Strike(offset, bytes);
  return {.error = false, .bytes = bytes, .delay_ns = 0, .torn = {}};
}

int ReadFolder(const char* path, void* buffer, fuse_fill_dir_t fill, off_t /*offset*/,
               fuse_file_info* /*file*/, fuse_readdir_flags /*flags*/) {
  const int descriptor = openat(ThisView().root, Relative(path), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return -errno;
  DIR* folder = fdopendir(descriptor);
  if (folder == nullptr) {
    close(descriptor);
    return -ENOMEM;
  }
  while (const dirent* entry = readdir(folder)) {
    struct stat status {};
    status.st_ino = entry->d_ino;
    status.st_mode = static_cast<mode_t>(entry->d_type) << 12;
    if (fill(buffer, entry->d_name, &status, 0, static_cast<fuse_fill_dir_flags>(0)) != 0) break;
  }
  closedir(folder);
  return 0;
}

struct Options {
  double bytes_per_second = 0;
  double each = 0;
  double latency_us = 0;
  std::vector<FlashFault> faults;
  double slowed = 0;
  std::string broken;
  std::string late;
  std::string source;
  std::string mount;
  bool foreground = false;
  bool with_parent = false;
};

Result<double> ParseRate(std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  STI_ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(text));
  if (bytes == 0) return UsageError("a rate is at least 1 byte a second");
  return static_cast<double>(bytes);
}

constexpr ValueKind<double> kRate{ParseRate, "RATE"};
constexpr ValueKind<std::vector<FlashFault>> kFaults{ParseFlashFaults, "FAULTS"};

void AddOptions(CLI::App& app, Options& o) {
  AddParsed(app, "--rate", o.bytes_per_second, kRate, "bytes a second, e.g. 80MiB")->required();
  AddParsed(app, "--each", o.each, kRate, "the most that comes through one open file [all]");
  AddParsed(app, "--latency", o.latency_us, kTime, "of each request, e.g. 100us [0]");
  AddParsed(app, "--fault", o.faults, kFaults,
            "eio, short, torn-once, torn or delay=TIME, then @OFFSET+LENGTH; commas between");
  AddParsed(app, "--slowed", o.slowed, kRate, "another rate, while FILE of --while exists");
  app.add_option("--while", o.broken, "faults strike only while this FILE exists [always]");
  app.add_option("--late", o.late, "FILE for a record of answers over 0.3 ms late");
  app.add_option("SOURCE", o.source, "folder to show")->required()->check(CLI::ExistingDirectory);
  app.add_option("MOUNTPOINT", o.mount, "empty folder")->required()->check(CLI::ExistingDirectory);
  app.add_flag("-f,--foreground", o.foreground, "stay in the foreground");
  app.add_flag("--with-parent", o.with_parent, "unmount when the starting process ends");
}

/// Answers the requests of a mounted view. Reads are answered here, each at its time, and all
/// others at once by FUSE's library. There is one thread, so that requests have the bus in the
/// order in which they have come: of several threads, one that has taken an early request may get
/// to run after others that have taken later ones.
class Server {
 public:
  Server(fuse_session* session, View& view) : session_(session), view_(view) {}
  ~Server() { std::free(request_.mem); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until the view is unmounted, or `endings` can be read.
  void Run(int endings) {
    std::array<pollfd, 2> sources{{{fuse_session_fd(session_), POLLIN, 0}, {endings, POLLIN, 0}}};
    while (true) {
      AnswerDue();
      const timespec wait = UntilNext();
      if (ppoll(sources.data(), sources.size(), waiting_.empty() ? nullptr : &wait, nullptr) < 0 &&
          errno != EINTR) {
        return;
      }
      if (sources[1].revents != 0) return;
      if (sources[0].revents != 0 && !Receive()) return;
    }
  }

 private:
  /// The answer to a read, until its time has come.
  struct Answer {
    int64_t due_ns;
    uint64_t unique;  // the kernel's number of the request
    int error;        // negative, or 0
    size_t bytes;
    std::unique_ptr<char[]> data;
  };

  [[nodiscard]] timespec UntilNext() const {
    if (waiting_.empty()) return {};
    const int64_t left_ns = std::max<int64_t>(0, waiting_.begin()->first - NowNs());
    return {.tv_sec = left_ns / kNanosecondsPerSecond, .tv_nsec = left_ns % kNanosecondsPerSecond};
  }

  void AnswerDue() {
    while (!waiting_.empty() && waiting_.begin()->first <= NowNs()) {
      const Answer& answer = waiting_.begin()->second;
      Reply(answer);
      view_.late.Note(waiting_.begin()->first);
      waiting_.erase(waiting_.begin());
    }
  }

  void Reply(const Answer& answer) const {
    fuse_out_header header{.len = static_cast<uint32_t>(sizeof(header) + answer.bytes),
                           .error = answer.error,
                           .unique = answer.unique};
    const std::array<iovec, 2> parts{
        {{&header, sizeof(header)}, {answer.data.get(), answer.bytes}}};
    // It fails where whoever asked has gone, and then nobody misses it.
    static_cast<void>(!writev(fuse_session_fd(session_), parts.data(), parts.size()));
  }

  // Takes one request. False if there will be none any more.
  bool Receive() {
    const int received = fuse_session_receive_buf(session_, &request_);
    if (received == -EINTR || received == -EAGAIN) return true;
    if (received <= 0) return false;
    fuse_in_header header{};
    std::memcpy(&header, request_.mem, sizeof(header));
    if (header.opcode == FUSE_READ) {
      fuse_read_in read{};
      std::memcpy(&read, static_cast<const char*>(request_.mem) + sizeof(header), sizeof(read));
      Answer answer = AnswerTo(header.unique, read);
      waiting_.emplace(answer.due_ns, std::move(answer));
    } else if (header.opcode != FUSE_INTERRUPT) {  // a device answers what has been asked
      fuse_session_process_buf(session_, &request_);
    }
    return true;
  }

  // The answer to a read that arrives now.
  [[nodiscard]] Answer AnswerTo(uint64_t unique, const fuse_read_in& read) {
    struct stat status {};
    const int file = static_cast<int>(read.fh);  // as Open has left it
    if (fstat(file, &status) != 0) return {0, unique, -errno, 0, nullptr};
    const uint64_t size = static_cast<uint64_t>(status.st_size);
    const uint64_t left = size - std::min(size, read.offset);
    const FlashFaults::Outcome outcome =
        Strike(view_, read.offset, std::min<uint64_t>(read.size, left));
    // The clock starts on arrival: the time our own read takes is not the device's.
    const double rate = view_.slowed > 0 && IsBroken(view_) ? view_.slowed : view_.bytes_per_second;
    int64_t due_ns = view_.device.Complete(outcome.bytes, rate);
    if (view_.each > 0) {
      Device& own = view_.of_file.try_emplace(read.fh, view_.device.latency_ns()).first->second;
      due_ns = std::max(due_ns, own.Complete(outcome.bytes, view_.each));
    }
    due_ns += outcome.delay_ns;
    if (outcome.error) return {due_ns, unique, -EIO, 0, nullptr};
    auto data = std::make_unique_for_overwrite<char[]>(outcome.bytes);
    size_t done = 0;
    while (done < outcome.bytes) {
      const ssize_t got = pread(file, data.get() + done, outcome.bytes - done,
                                static_cast<off_t>(read.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return {due_ns, unique, -errno, 0, nullptr};
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    for (const FlashFault& fault : outcome.torn) Tear(fault, read.offset, {data.get(), done});
    return {due_ns, unique, 0, done, std::move(data)};
  }

  fuse_session* session_;
  View& view_;
  fuse_buf request_{};
  std::multimap<int64_t, Answer> waiting_;  // by when they are due; equals as they came
};

// Mounts, serves until unmounted or asked to end, unmounts. False if it could not begin.
bool Serve(const Options& o, const fuse_operations& operations, View& view) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  for (const char* word : {"flashfs", "-o", "ro,default_permissions,fsname=flashfs"}) {
    if (fuse_opt_add_arg(&arguments, word) != 0) return false;
  }
  // Absolute, since a daemon changes its folder before it unmounts.
  std::error_code failed;
  const std::string mount = std::filesystem::absolute(o.mount, failed);
  if (failed) return false;
  // Blocked first: a signal may come as soon as the starting process has returned.
  sigset_t endings{};
  sigemptyset(&endings);
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&endings, signal_number);
  sigprocmask(SIG_BLOCK, &endings, nullptr);
  const int ended = signalfd(-1, &endings, SFD_CLOEXEC);
  fuse* served =
      ended >= 0 ? fuse_new(&arguments, &operations, sizeof(operations), &view) : nullptr;
  bool is_served = false;
  if (served != nullptr && fuse_mount(served, mount.c_str()) == 0) {
    is_served = fuse_daemonize(o.foreground ? 1 : 0) == 0;
    if (is_served) Server(fuse_get_session(served), view).Run(ended);
    fuse_unmount(served);
  }
  if (served != nullptr) fuse_destroy(served);
  fuse_opt_free_args(&arguments);
  if (ended >= 0) close(ended);
  return is_served;
}

Result<int> Run(const Options& o) {
  View view{.root = open(o.source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
            .device = Device(static_cast<int64_t>(o.latency_us * 1e3)),
            .faults = FlashFaults(o.faults),
            .late = LateAnswers(o.late),
            .bytes_per_second = o.bytes_per_second,
            .each = o.each,
            .of_file = {},
            .slowed = o.slowed,
            .broken = o.broken.empty() ? "" : std::filesystem::absolute(o.broken).string()};
  if (view.root < 0) return MachineError(o.source + ": cannot open");
  if (!o.late.empty() && !view.late.has_file()) return MachineError(o.late + ": cannot write");
  // Wake on time: by default the kernel adds up to 50 us to a sleep.
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (o.with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
  fuse_operations operations{};
  operations.init = Init;
  operations.getattr = GetAttributes;
  operations.readlink = ReadLink;
  operations.open = Open;
  operations.release = Release;
  operations.readdir = ReadFolder;
  const bool is_served = Serve(o, operations, view);
  close(view.root);
  // Where mounting failed FUSE has said why on stderr. A signal is the way to end.
  return is_served ? 0 : 1;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("flashfs",
                 "Shows a folder read-only, at the speed of an ideal flash device of a given rate. "
                 "Ends on SIGTERM or fusermount3 -u.",
                 "flashfs --rate 80MiB --latency 100us models/ /mnt/slow");
  sti::Options options;
  sti::AddOptions(tool.app(), options);
  return tool.Main(argc, argv, [&] { return sti::Run(options); });
}
