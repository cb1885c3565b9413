// flashfs: a folder as a slow flash device shows it.
//
// A read-only FUSE view. Every read costs what it would cost on an ideal device: a fixed latency,
// then its bytes over one bus of B bytes a second that all requests share, in order of arrival. A
// read is answered at that time and never before. Slowness is smooth because each answer has its
// own absolute deadline: nothing is handed out in slices, and a late wake-up delays one answer, not
// the device. The page cache is bypassed, so that reading twice costs twice.
//
// Only reads of file contents cost time: looking names up is free. On request the device is a bad
// one (--fault): it fails, tears or delays what touches some range of any of its files. Or it has
// another rate (--slowed). Either may begin and end while the view is mounted (--while).
#define FUSE_USE_VERSION 312
#include <dirent.h>
#include <fcntl.h>
#include <fuse.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "common/cli.h"
#include "common/parse.h"
#include "common/tool.h"
#include "flash_faults.h"

namespace sti {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr unsigned kMaxInFlight = 64;

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

void SleepUntil(int64_t deadline_ns) {
  const timespec deadline{.tv_sec = deadline_ns / kNanosecondsPerSecond,
                          .tv_nsec = deadline_ns % kNanosecondsPerSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
}

/// The one clock of the device. Thread-safe.
class Device {
 public:
  explicit Device(int64_t latency_ns) : latency_ns_(latency_ns) {}

  /// When a read of `bytes` that arrives now is complete at this rate. Latencies overlap, transfers
  /// do not.
  int64_t Complete(uint64_t bytes, double bytes_per_second) {
    const auto transfer_ns =
        static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / bytes_per_second);
    const std::scoped_lock lock(mutex_);
    bus_free_ns_ = std::max(bus_free_ns_, NowNs() + latency_ns_) + transfer_ns;
    return bus_free_ns_;
  }

 private:
  const int64_t latency_ns_;
  std::mutex mutex_;
  int64_t bus_free_ns_ = 0;
};

/// Counts answers that came much later than the device's, because the machine woke nobody in time,
/// and keeps the count in a file as text. Thread-safe.
class LateAnswers {
 public:
  /// Begins with 0; without a file where `path` is empty.
  explicit LateAnswers(const std::string& path) {
    if (path.empty()) return;
    file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    Keep("0");
  }
  ~LateAnswers() {
    if (file_ >= 0) close(file_);
  }
  LateAnswers(const LateAnswers&) = delete;
  LateAnswers& operator=(const LateAnswers&) = delete;

  [[nodiscard]] bool has_file() const { return file_ >= 0; }
  /// Takes note of an answer that is to come at this time, and comes now.
  void Note(int64_t deadline_ns) {
    if (file_ < 0 || NowNs() - deadline_ns < kMuchNs) return;
    const std::scoped_lock lock(mutex_);
    Keep(std::to_string(++count_));
  }

 private:
  static constexpr int64_t kMuchNs = 1'000'000;
  void Keep(const std::string& text) {
    if (file_ >= 0 && pwrite(file_, text.data(), text.size(), 0) < 0) file_ = -1;
  }

  int file_ = -1;
  std::mutex mutex_;
  uint64_t count_ = 0;
};

/// The state that the operations share: FUSE hands it to each.
struct View {
  int root = -1;
  Device device;
  FlashFaults faults;
  LateAnswers late;
  double bytes_per_second = 0;
  double slowed = 0;   // the rate while the device is broken; 0: the same
  std::string broken;  // it is while this file exists; always if empty
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
  connection->max_background = 2 * kMaxInFlight;
  connection->congestion_threshold = 2 * kMaxInFlight;
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
  close(static_cast<int>(file->fh));
  return 0;
}

FlashFaults::Outcome Strike(View& view, uint64_t offset, uint64_t bytes) {
  if (IsBroken(view)) return view.faults.Strike(offset, bytes);
  return {.error = false, .bytes = bytes, .delay_ns = 0, .torn = {}};
}

int Read(const char* /*path*/, char* buffer, size_t size, off_t offset, fuse_file_info* file) {
  struct stat status {};
  if (fstat(static_cast<int>(file->fh), &status) != 0) return -errno;
  const off_t left = std::max<off_t>(0, status.st_size - offset);
  const auto at = static_cast<uint64_t>(offset);
  const FlashFaults::Outcome outcome =
      Strike(ThisView(), at, std::min(size, static_cast<size_t>(left)));
  const size_t bytes = outcome.bytes;
  // The clock starts on arrival: the time our own read takes is not the device's.
  View& view = ThisView();
  const double rate = view.slowed > 0 && IsBroken(view) ? view.slowed : view.bytes_per_second;
  const int64_t deadline_ns = view.device.Complete(bytes, rate) + outcome.delay_ns;
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = pread(static_cast<int>(file->fh), buffer + done, bytes - done,
                              offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  for (const FlashFault& fault : outcome.torn) Tear(fault, at, {buffer, done});
  SleepUntil(deadline_ns);
  ThisView().late.Note(deadline_ns);
  return outcome.error ? -EIO : static_cast<int>(done);
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
  AddParsed(app, "--latency", o.latency_us, kTime, "of each request, e.g. 100us [0]");
  AddParsed(app, "--fault", o.faults, kFaults,
            "eio, short, torn-once, torn or delay=TIME, then @OFFSET+LENGTH; commas between");
  AddParsed(app, "--slowed", o.slowed, kRate, "another rate, while FILE of --while exists");
  app.add_option("--while", o.broken, "faults strike only while this FILE exists [always]");
  app.add_option("--late", o.late, "FILE for the number of answers over 1 ms late");
  app.add_option("SOURCE", o.source, "folder to show")->required()->check(CLI::ExistingDirectory);
  app.add_option("MOUNTPOINT", o.mount, "empty folder")->required()->check(CLI::ExistingDirectory);
  app.add_flag("-f,--foreground", o.foreground, "stay in the foreground");
  app.add_flag("--with-parent", o.with_parent, "unmount when the starting process ends");
}

// Mounts, serves until unmounted or asked to end, unmounts. Negative if it could not begin.
int Serve(const Options& o, const fuse_operations& operations, View& view) {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  for (const char* word : {"flashfs", "-o", "ro,default_permissions,fsname=flashfs"}) {
    if (fuse_opt_add_arg(&arguments, word) != 0) return -1;
  }
  // Absolute, since a daemon changes its folder before it unmounts.
  std::error_code failed;
  const std::string mount = std::filesystem::absolute(o.mount, failed);
  if (failed) return -1;
  int status = -1;
  fuse* view_loop = fuse_new(&arguments, &operations, sizeof(operations), &view);
  if (view_loop != nullptr && fuse_mount(view_loop, mount.c_str()) == 0) {
    fuse_session* session = fuse_get_session(view_loop);
    fuse_loop_config* config = fuse_loop_cfg_create();
    // A thread a request in flight, all asleep. So many that queues are as deep as callers make
    // them, and few enough of them idle that none comes and goes.
    fuse_loop_cfg_set_max_threads(config, kMaxInFlight);
    fuse_loop_cfg_set_idle_threads(config, kMaxInFlight);
    // Handlers first: a signal may come as soon as the starting process has returned.
    if (fuse_set_signal_handlers(session) == 0 && fuse_daemonize(o.foreground ? 1 : 0) == 0) {
      status = std::max(0, fuse_loop_mt(view_loop, config));
      fuse_remove_signal_handlers(session);
    }
    fuse_loop_cfg_destroy(config);
    fuse_unmount(view_loop);
  }
  if (view_loop != nullptr) fuse_destroy(view_loop);
  fuse_opt_free_args(&arguments);
  return status;
}

Result<int> Run(const Options& o) {
  View view{.root = open(o.source.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
            .device = Device(static_cast<int64_t>(o.latency_us * 1e3)),
            .faults = FlashFaults(o.faults),
            .late = LateAnswers(o.late),
            .bytes_per_second = o.bytes_per_second,
            .slowed = o.slowed,
            .broken = o.broken.empty() ? "" : std::filesystem::absolute(o.broken).string()};
  if (view.root < 0) return MachineError(o.source + ": cannot open");
  if (!o.late.empty() && !view.late.has_file()) return MachineError(o.late + ": cannot write");
  // Wake on time: by default the kernel adds up to 50 us to a sleep. Inherited by FUSE's threads.
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (o.with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
  fuse_operations operations{};
  operations.init = Init;
  operations.getattr = GetAttributes;
  operations.readlink = ReadLink;
  operations.open = Open;
  operations.release = Release;
  operations.read = Read;
  operations.readdir = ReadFolder;
  // FUSE ends its loop and unmounts on these, but takes only signals that nobody handles.
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal_number, SIG_DFL);
  const int status = Serve(o, operations, view);
  close(view.root);
  // Where mounting failed FUSE has said why on stderr. A signal is the way to end.
  return status >= 0 ? 0 : 1;
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
