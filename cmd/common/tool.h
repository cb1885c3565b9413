// What every tool does the same way: common options, messages, progress, signals, exit codes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sti {

/// A tool's frame. A main fills options into app(), then calls Main with the work to do.
class Tool {
 public:
  Tool(std::string name, std::string description, std::string example);
  ~Tool();
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Options are added with what common/cli.h includes.
  [[nodiscard]] CLI::App& app() { return *app_; }
  [[nodiscard]] bool json() const { return json_; }
  [[nodiscard]] bool quiet() const { return quiet_; }
  [[nodiscard]] bool verbose() const { return verbose_; }

  /// Parses, runs `body`, and returns the exit code: the body's own, or that of its error, or 130
  /// or 143 after a signal, or 141 if stdout was closed.
  int Main(int argc, char** argv, const std::function<Result<int>()>& body);

  /// One line to stderr, unless quiet.
  void Say(std::string_view line) const;
  /// One line to stderr with -v.
  void Explain(std::string_view line) const;
  /// One line to stderr, "tool: warning: ...", unless quiet.
  void Warn(std::string_view line) const;
  /// Prints a line of the library: a warning, or with -v an explanation.
  void Log(const LogLine& line) const;

  /// A bar with rate and time left on stderr, if that is a terminal and nothing is silenced.
  /// The rate is in `unit`s of `steps` steps a second.
  [[nodiscard]] ProgressSink Progress(std::string what, std::string unit = "",
                                      uint64_t steps = 1) const;

 private:
  void PrintLine(std::string_view line) const;
  int Report(const Error& error) const;
  int CloseOutput(int code) const;

  std::string name_;
  std::unique_ptr<CLI::App> app_;
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
};

/// The signal that asked this process to stop, or 0.
int StopSignal();
inline bool StopRequested() { return StopSignal() != 0; }

/// Threads this process may use: what affinity and control groups leave it, not the machine's
/// cores.
uint32_t AvailableThreads();

}  // namespace sti
