#include "common/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/control_group.h"
#include "base/remedy.h"
#include "base/temporary.h"
#include "common/cli.h"
#include "common/help.h"
#include "common/messages.h"
#include "common/remedies.h"

namespace sti {
namespace {

constexpr int kExitOutputClosed = 141;  // as if killed by SIGPIPE
constexpr int kExitSignalBase = 128;

bool g_began_without_stdout = false;
bool g_left_open = false;

// Output may sit in the buffer until now.
bool FlushOutput() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

// Why it could not be written: a reader that went away is not an error to report, a full disk is.
// The write's own errno may be long gone, a broken pipe stays one.
bool ReaderLeft() {
  if (g_began_without_stdout) return true;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

// Whoever shares a pipe may have made it one that never waits, and then a full one would lose what
// is written. Opened anew, it is this process's own to wait on.
void OwnWaitingOutputs() {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    const int flags = fcntl(stream, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) == 0) continue;
    struct stat info {};
    if (fstat(stream, &info) != 0 || !(S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode))) continue;
    const std::string path = "/proc/self/fd/" + std::to_string(stream);
    const int own = open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (own < 0) continue;
    dup2(own, stream);
    close(own);
  }
}

// A stream that the caller closed stays unusable; otherwise the next file to be opened would take
// its number, and be read as stdin or written as stdout.
void OccupyClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (stream == STDOUT_FILENO) g_began_without_stdout = true;
    // The lowest free number is `stream`. The wrong mode, so that using it still fails.
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", mode) < 0) return;
  }
}

// Returns a word that begins with a dash and is no option. A mistyped option makes others seem to
// miss or to be too many, so it is told first.
std::string StrayOption(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word == "--") break;
    if (word.size() > 1 && word[0] == '-') return word.substr(0, word.find('='));
  }
  return "";
}

// The options that may stand on this command line, by name.
std::vector<std::string> AllOptions(const CLI::App& app) {
  std::vector<std::string> names;
  const auto add = [&names](const CLI::App* from) {
    for (const CLI::Option* option : from->get_options()) {
      for (std::string& name : NamesOf(*option)) names.push_back(std::move(name));
    }
  };
  add(&app);
  for (const CLI::App* subcommand : app.get_subcommands()) add(subcommand);
  return names;
}

// Returns an option that was given no more than an empty value: most often a script's variable that
// is not set. It would be taken as not given.
std::string EmptyOption(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    const bool empty = std::find(values.begin(), values.end(), "") != values.end();
    if (empty && option->nonpositional()) return option->get_name();
  }
  for (const CLI::App* subcommand : app.get_subcommands()) {
    if (std::string name = EmptyOption(*subcommand); !name.empty()) return name;
  }
  return "";
}

// Returns the name of the subcommand that has this option; empty if none has.
std::string SubcommandWith(const CLI::App& app, const std::string& option) {
  for (const CLI::App* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (subcommand->get_option_no_throw(option) != nullptr) return subcommand->get_name();
  }
  return "";
}

std::string WrongUsage(const CLI::ParseError& error, const CLI::App& app) {
  const std::string see = "; see " + app.get_name() + " --help";
  const std::string stray = StrayOption(app);
  if (stray.empty()) return error.what() + see;
  if (const std::string owner = SubcommandWith(app, stray); !owner.empty())
    return stray + " goes with " + owner + "; see " + app.get_name() + " " + owner + " --help";
  const std::string nearest = NearestWord(stray, AllOptions(app));
  return "no option " + stray + (nearest.empty() ? see : "; did you mean " + nearest + "?");
}

}  // namespace

Tool::Tool(std::string name, std::string description, std::string example)
    : name_(std::move(name)),
      messages_(name_),
      app_(std::make_unique<CLI::App>(std::move(description), name_)) {
  app_->footer(std::move(example));
  app_->formatter_fn([](const CLI::App* app, const std::string& called, CLI::AppFormatMode mode) {
    return HelpText(*app, called, mode == CLI::AppFormatMode::All);
  });
  app_->option_defaults()->group(kCommon);
  app_->set_help_flag("-h", "print the most used options");
  app_->set_help_all_flag("--help", "print all options");
  app_->add_flag("-q,--quiet", quiet_, "say nothing but errors");
  app_->add_flag("-v,--verbose", verbose_, "explain what is done");
  app_->add_flag("--json", json_, "machine-readable output");
  app_->add_flag("--log-json", log_json_, "messages as JSON, one object a line");
  app_->set_version_flag("--version", name_ + " " STI_VERSION, "print the version");
  app_->option_defaults()->group(kLessUsed);
}

Tool::~Tool() = default;

int Tool::Report(const Error& error) const {
  Complain(LineFor(error));
  return ExitCode(error.kind);
}

int Tool::Main(int argc, char** argv, const std::function<Result<int>()>& body) {
  OccupyClosedStreams();
  OwnWaitingOutputs();
  try {
    app_->parse(argc, argv);
    SetUpMessages();
  } catch (const CLI::Success& asked) {
    app_->exit(asked);  // help or version, to stdout
    return CloseOutput(0);
  } catch (const CLI::ParseError& error) {
    // The parser ended before it set anything.
    log_json_ = std::find(argv, argv + argc, std::string_view("--log-json")) != argv + argc;
    SetUpMessages();
    return Report(UsageError(WrongUsage(error, *app_)));
  }
  if (const std::string empty = EmptyOption(*app_); !empty.empty())
    return Report(UsageError(empty + ": its value is empty; give one, or leave the option out"));
  HandleSignals();
  int code = 0;
  try {
    Result<int> result = body();
    bool interrupted = !result.ok() && StopRequested();
    if (!result.ok() && !interrupted) code = Report(result.error());
    if (result.ok()) code = *result;
  } catch (const std::bad_alloc&) {
    code = Report({ErrorKind::kNoMemory, "no memory; try a smaller --preload, --threads or model"});
  } catch (const std::system_error& refused) {
    // Only threads throw this, of all that the library uses.
    code = Report(MachineError("cannot start a thread (" + refused.code().message() + ")")
                      .Fix(Remedy::kMoreThreads));
  }
  code = CloseOutput(code);
  if (StopRequested()) code = kExitSignalBase + StopSignal();
  // Threads that read still use what the end of `main` would take away.
  if (g_left_open) std::_Exit(code);
  return code;
}

int Tool::CloseOutput(int code) const {
  if (FlushOutput()) return code;
  if (ReaderLeft()) return kExitOutputClosed;
  return Report(MachineError("cannot write all of the output; is the disk full?").At("stdout"));
}

void Tool::Say(std::string_view line) const {
  if (!quiet_) messages_.Write(MessageLevel::kInfo, line);
}

void Tool::Explain(std::string_view line) const { messages_.Write(MessageLevel::kDebug, line); }

void Tool::Warn(std::string_view line) const {
  if (!quiet_) messages_.Write(MessageLevel::kWarning, line);
}

void Tool::Complain(std::string_view line) const { messages_.Write(MessageLevel::kError, line); }

void Tool::SetUpMessages() {
  if (verbose_) messages_.SetLeast(MessageLevel::kDebug);
  if (log_json_) messages_.UseJson();
}

void Tool::PrintAside(std::string_view lines) const {
  if (!log_json_) {
    std::fwrite(lines.data(), 1, lines.size(), stderr);
    return;
  }
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    messages_.Write(MessageLevel::kInfo, line);
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
}

ProgressSink Tool::Progress(std::string what, std::string unit, uint64_t steps) const {
  if (quiet_ || log_json_ || isatty(STDERR_FILENO) == 0) return {};
  return MakeProgressBar(std::move(what), std::move(unit), steps);
}

void Tool::Log(const LogLine& line) const {
  line.level == LogLevel::kWarning ? Warn(LineFor(line)) : Explain(LineFor(line));
}

void LeaveOpen() { g_left_open = true; }

uint32_t AvailableThreads() { return UsableCpus(); }

namespace {

// SIGXCPU is the first of those that a batch system sends before it kills.
constexpr std::array kAsking{SIGHUP, SIGINT, SIGTERM, SIGXCPU};

volatile std::sig_atomic_t g_stop_signal = 0;
volatile std::sig_atomic_t g_hangup = 0;

bool Asks(int number) { return std::find(kAsking.begin(), kAsking.end(), number) != kAsking.end(); }

// Whether a signal that is not handled ends a process.
bool Ends(int number) {
  constexpr std::array kOthers{SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                               SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};
  return std::find(kOthers.begin(), kOthers.end(), number) == kOthers.end();
}

// Leaves alone what somebody else handles or ignores: a parent, a sanitizer, ListenForHangup.
void Handle(int number, void (*handler)(int), int flags, void (*only_if)(int)) {
  struct sigaction before {};
  if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != only_if) return;
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

// Ends the process as the signal would have: its handling is the usual one again, and it is held
// back until this returns.
void EndNow(int number) {
  RemoveTemporaries();
  std::raise(number);
}

void Ask(int number) {
  g_stop_signal = number;
  for (const int other : kAsking) Handle(other, EndNow, static_cast<int>(SA_RESETHAND), Ask);
}

void TakeNote(int /*number*/) { g_hangup = 1; }

}  // namespace

void HandleSignals() {
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (Asks(number)) {
      Handle(number, Ask, SA_RESTART, SIG_DFL);
    } else if (Ends(number)) {
      Handle(number, EndNow, static_cast<int>(SA_RESETHAND), SIG_DFL);
    }
  }
  // Writes fail in their stead, and say why.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int StopSignal() { return g_stop_signal; }

void ListenForHangup(bool also_ignored) {
  Handle(SIGHUP, TakeNote, SA_RESTART, Ask);
  if (also_ignored) Handle(SIGHUP, TakeNote, SA_RESTART, SIG_IGN);
}

bool TakeHangup() {
  const bool came = g_hangup != 0;
  g_hangup = 0;
  return came;
}

}  // namespace sti
