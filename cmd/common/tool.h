// The frame of a command-line tool: its common options, messages, progress, signals and exit codes.
// Every tool has one, so that all tools behave alike. A signal that asks to end lets a tool finish
// the line at hand and exit with 128 and the signal's number; a second one, or any other that ends
// a process, does so at once. Neither leaves a temporary behind. A signal that was ignored at the
// start (nohup) stays ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "common/messages.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sti {

/// Begins to handle signals so. Writes that a signal interrupts go on; only waits for input end.
void HandleSignals();

/// Returns the signal that asked this process to stop, or 0.
int StopSignal();
inline bool StopRequested() { return StopSignal() != 0; }

/// Lets SIGHUP ask for something else from now on, in place of ending the process; `also_ignored`:
/// where it was ignored at the start too, since the user has asked for this very signal.
void ListenForHangup(bool also_ignored);
/// Returns whether SIGHUP has come since the last call.
bool TakeHangup();

/// Holds a tool's common options and prints its messages. A `main` adds its own options to app(),
/// then calls Main with the work to do.
class Tool {
 public:
  Tool(std::string name, std::string description, std::string example);
  ~Tool();
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Returns the parser. Options are added to it with what common/cli.h includes.
  [[nodiscard]] CLI::App& app() { return *app_; }
  [[nodiscard]] const CLI::App& app() const { return *app_; }
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  [[nodiscard]] bool verbose() const { return verbose_; }

  /// Parses, runs `body`, and returns the exit code: the body's own, or that of its error, or 130
  /// or 143 after a signal, or 141 if stdout was closed.
  int Main(int argc, char** argv, const std::function<Result<int>()>& body);

  /// Prints one line to stderr, unless quiet. This and the next four write messages
  /// (common/messages.h), which --log-json spells as JSON.
  void Say(std::string_view line) const;
  /// Prints one line to stderr with -v.
  void Explain(std::string_view line) const;
  /// Prints one line to stderr, "tool: warning: ...", unless quiet.
  void Warn(std::string_view line) const;
  /// Prints one line to stderr, also when quiet: what will make the exit code.
  void Complain(std::string_view line) const;
  /// Prints a line of the library: a warning, or with -v an explanation.
  void Log(const LogLine& line) const;
  /// Prints lines of an answer to stderr, as stdout holds another part of it: as they are, or with
  /// --log-json a message each.
  void PrintAside(std::string_view lines) const;

  /// Returns a sink that draws a bar with rate and time left on stderr; an empty one if stderr is
  /// no terminal, if the tool is quiet, or with --log-json. The rate counts `unit`s a second, each
  /// of `steps` steps.
  [[nodiscard]] ProgressSink Progress(std::string what, std::string unit = "",
                                      uint64_t steps = 1) const;

 private:
  void SetUpMessages();
  int Report(const Error& error) const;
  int CloseOutput(int code) const;

  std::string name_;
  Messages messages_;
  std::unique_ptr<CLI::App> app_;
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  bool log_json_ = false;
};

/// Lets the process end, when the tool has done its work, without closing what is still open: a
/// read that hangs is left to the kernel.
void LeaveOpen();

/// Closes what has reads in flight, unless one of them hangs now: then it is left open.
struct CloseOrLeave {
  template <typename Reading>
  void operator()(Reading* reading) const {
    if (!reading->Settled()) return LeaveOpen();
    delete reading;
  }
};

/// Returns how many threads this process may use: what affinity and control groups leave it, not
/// the machine's cores.
uint32_t AvailableThreads();

}  // namespace sti
