#include "stage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "api/session.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/remedies.h"
#include "format/plan_file.h"
#include "io/container_file.h"
#include "link/frame.h"
#include "link/mpi_carrier.h"
#include "link/pipe_carrier.h"
#include "link/stage_link.h"
#include "session.h"
#include "stage_worker.h"
#include "text/tokenizer.h"
#include "types/stage.h"

namespace sti {
namespace {

constexpr double kLook_us = 1e5;
constexpr double kLeastTimeout_us = 5e6;
constexpr double kPeriodsToWait = 10;

/// The name by which a device knows itself where nobody tells it.
std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

/// Where the passes of a stage come from: lines, or the stage before.
class PassSource {
 public:
  PassSource(const StagePlace& place, Session& session, const RunOptions& options, StageLink* link,
             const std::atomic<bool>& ended)
      : place_(place),
        session_(session),
        options_(options),
        link_(link),
        ended_(ended),
        reader_(STDIN_FILENO) {}

  /// Returns the next pass; nothing at the end of the input.
  Result<std::optional<StagePass>> Next() {
    const Clock::time_point began = Clock::now();
    StagePass pass;
    if (place_.is_first()) {
      STI_ASSIGN_OR_RETURN(const bool more, Gather(&pass));
      if (!more) return std::optional<StagePass>();
    } else {
      STI_ASSIGN_OR_RETURN(auto frame, link_->Next());
      if (!frame) return std::optional<StagePass>();
      pass.frame = *std::move(frame);
    }
    pass.taken = Clock::now();
    pass.wait_us = MicrosecondsBetween(began, pass.taken);
    return std::optional<StagePass>(std::move(pass));
  }

 private:
  /// Waits for a line, and takes with it those that are there already, up to a pass.
  Result<bool> Gather(StagePass* pass) {
    pass->frame.number = passes_++;
    while (pass->frame.lines.size() < place_.plan.staged->microbatch) {
      const bool is_first = pass->frame.lines.empty();
      STI_ASSIGN_OR_RETURN(const bool more,
                           options_.texts.empty() ? TakeLine(is_first, pass) : TakeText(pass));
      if (!more) break;
    }
    return !pass->frame.lines.empty();
  }

  bool TakeText(StagePass* pass) {
    if (next_text_ == options_.texts.size() || Stops()) return false;
    Add(options_.texts[next_text_++], {}, pass);
    return true;
  }

  Result<bool> TakeLine(bool waits, StagePass* pass) {
    while (!reader_.Wait(waits ? kLook_us : 0)) {
      if (!waits || Stops()) return false;
    }
    if (Stops()) return false;
    STI_ASSIGN_OR_RETURN(auto line, reader_.Next());
    if (!line) return false;
    Add(std::move(line->text), line->usable(), pass);
    return true;
  }

  void Add(std::string text, const Status& usable, StagePass* pass) {
    FrameLine& line = pass->frame.lines.emplace_back();
    line.text = std::move(text);
    auto encoding =
        usable.ok() ? EncodeLine(options_, session_, line.text) : Result<Encoding>(usable.error());
    if (encoding.ok()) {
      line.tokens = static_cast<uint32_t>(encoding->ids.size());
      line.truncated = encoding->truncated;
      if (session_.info().labels_tokens()) line.text_tokens = TextTokensOf(*encoding);
      pass->texts.push_back(*std::move(encoding));
    } else {
      line.error = encoding.error();
      pass->texts.emplace_back();
    }
  }

  [[nodiscard]] bool Stops() const { return StopRequested() || ended_; }

  const StagePlace& place_;
  Session& session_;
  const RunOptions& options_;
  StageLink* link_;
  const std::atomic<bool>& ended_;
  LineReader reader_;
  size_t next_text_ = 0;
  uint64_t passes_ = 0;
};

/// Raises an interrupt when a signal asks the process to stop, or the link says that it is of no
/// use any more. One that is made watches until it is destroyed.
class StopWatch {
 public:
  explicit StopWatch(Interrupt& interrupt)
      : thread_([this, &interrupt] {
          while (!done_) {
            if (StopRequested() || ended_) interrupt.Raise();
            usleep(static_cast<useconds_t>(kLook_us / 2));
          }
        }) {}
  ~StopWatch() {
    done_ = true;
    thread_.join();
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  void End() { ended_ = true; }
  [[nodiscard]] const std::atomic<bool>& ended() const { return ended_; }

 private:
  std::atomic<bool> done_{false};
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

/// Runs passes until the input ends.
Status RunPasses(const StagePlace& place, Session& session, StageWorker& worker, PassSource& source,
                 StageLink* link) {
  for (;;) {
    // The shards of the next pass are read while it is awaited.
    STI_RETURN_IF_ERROR(session.Wake());
    STI_ASSIGN_OR_RETURN(auto pass, source.Next());
    if (!pass) return {};
    if (link != nullptr) link->NoteWork(true);
    const Status computed = worker.Compute(&*pass);
    if (link != nullptr) link->NoteWork(false);
    STI_RETURN_IF_ERROR(computed);
    if (place.is_last()) {
      STI_RETURN_IF_ERROR(worker.Answer(*pass));
      if (worker.output_closed()) return {};
    } else {
      STI_RETURN_IF_ERROR(link->Give(std::move(pass->frame)));
      if (link->output_closed()) return {};
    }
  }
}

/// Says how this stage has ended to the stage behind it.
EndFrame EndOf(const StagePlace& place, const Status& ran) {
  EndFrame end;
  if (ran.ok() && !StopRequested()) return end;
  end.device = place.own().device;
  end.reason = EndFrame::Reason::kInterrupted;
  if (ran.ok() || StopRequested() || ran.error().kind == ErrorKind::kCancelled) return end;
  end.reason = EndFrame::Reason::kFailed;
  end.what = LineFor(ran.error());
  return end;
}

Status CheckStreams(const StagePlace& place) {
  if (!place.is_first() && isatty(STDIN_FILENO) != 0) {
    return UsageError("stdin of stage " + place.own().device + " is stage " +
                      place.NameAt(place.number - 1) + "'s stdout, not a terminal; join them");
  }
  if (!place.is_last() && isatty(STDOUT_FILENO) != 0) {
    return UsageError("stdout of stage " + place.own().device + " is for stage " +
                      place.NameAt(place.number + 1) + ", not a terminal; join them by a pipe");
  }
  return {};
}

double TimeoutOf(const StagePlace& place, const RunOptions& options) {
  return options.stage_timeout_us.value_or(
      std::max(kPeriodsToWait * place.plan.staged->period_us, kLeastTimeout_us));
}

/// Opens the sides of the streams that a stage has: ranks of MPI, or stdin and stdout where `ranks`
/// is null. The first stage has no source, the last no sink.
Result<std::unique_ptr<StageLink>> OpenLink(const StagePlace& place, const RunOptions& options,
                                            MpiRanks* ranks, uint32_t hidden, StopWatch& stop,
                                            Interrupt* interrupt) {
  const PlanStages& staged = *place.plan.staged;
  if (place.is_first() && place.is_last()) return std::unique_ptr<StageLink>();
  StageLinkOptions link;
  link.terms = {.plan = DigestOfPlan(place.plan),
                .hidden = hidden,
                .length = place.plan.length,
                .microbatch = staged.microbatch,
                .stages = static_cast<uint32_t>(staged.stages.size())};
  link.timeout_us = TimeoutOf(place, options);
  link.device = place.own().device;
  link.before = place.is_first() ? "" : place.NameAt(place.number - 1);
  link.after = place.NameAt(place.number + 1);
  link.interrupt = interrupt;
  link.on_end = [&stop] { stop.End(); };
  const std::string name = "frames of " + link.before;
  std::unique_ptr<FrameSource> source;
  std::unique_ptr<FrameSink> sink;
  if (ranks != nullptr) {
    if (!place.is_first()) source = ranks->Source(ranks->rank() - 1, 0, link.terms, name);
    if (!place.is_last()) sink = ranks->Sink(ranks->rank() + 1, 0);
  } else {
    if (!place.is_first()) source = std::make_unique<PipeSource>(STDIN_FILENO, link.terms, name);
    if (!place.is_last()) sink = std::make_unique<PipeSink>(STDOUT_FILENO);
  }
  return StageLink::Start(std::move(source), std::move(sink), std::move(link));
}

/// Returns the plug-in for MPI that belongs to this program: ../lib/sti from its folder.
std::string MpiPluginPath() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (program.parent_path().parent_path() / "lib" / "sti" / "libsti-link-mpi.so").string();
}

Result<std::unique_ptr<MpiRanks>> JoinRanks() {
  auto ranks = MpiRanks::Join(MpiPluginPath());
  if (ranks.ok()) return ranks;
  Error error = ranks.error();
  if (error.kind == ErrorKind::kMachine) {
    error.what +=
        "; install Open MPI (openmpi-bin) and a sti-run that was built beside it (libopenmpi-dev)";
  }
  return std::move(error).At("--link mpi");
}

/// Returns the stage of a rank, which is that of its number.
Result<size_t> FindStageOfRank(const Plan& plan, const RunOptions& options, const MpiRanks& ranks) {
  const std::vector<PlanStage>& stages = plan.staged->stages;
  if (ranks.ranks() != stages.size()) {
    const std::string wanted = std::to_string(stages.size());
    return UsageError("--link mpi: started as rank " + std::to_string(ranks.rank()) + " of " +
                      std::to_string(ranks.ranks()) + ", and " + options.plan + " has " + wanted +
                      (stages.size() == 1 ? " stage" : " stages") +
                      "; start it by mpirun --bind-to none -n " + wanted +
                      " of the MPI that it was built for, or srun --mpi=pmix -n " + wanted);
  }
  const std::string& device = stages[ranks.rank()].device;
  if (options.stage != "auto" && options.stage != device) {
    return UsageError("--stage: rank " + std::to_string(ranks.rank()) + " has the stage of " +
                      OneLine(device) + ", not of " + OneLine(options.stage) +
                      "; start ranks in the order of stages, or give --stage auto");
  }
  return ranks.rank();
}

/// Waits until all ranks are done, so that none is ended before it has said all; for as long as
/// that takes if this one has ended well, else for the timeout.
void LeaveRanks(MpiRanks& ranks, bool ended_well, double timeout_us) {
  (void)std::fflush(stdout);
  Clock::time_point began = Clock::now();
  for (;;) {
    const auto left = ranks.Leave(Clock::now() + Microseconds(kLook_us));
    if (!left.ok() || *left) return;
    if (ended_well && !StopRequested()) began = Clock::now();
    if (MicrosecondsBetween(began, Clock::now()) >= timeout_us) return;
  }
}

Result<uint32_t> HiddenOf(const std::string& model) {
  STI_ASSIGN_OR_RETURN(const ContainerFile file, ContainerFile::Open(model));
  return file.index().info.shape.hidden;
}

/// Opens the stage's model and runs it. Returns the exit code.
Result<int> Serve(const StagePlace& place, const RunOptions& options, const Tool& tool,
                  StageLink* link, const std::atomic<bool>& ended) {
  STI_ASSIGN_OR_RETURN(const OpenedSession session, OpenSession(options, 0, tool));
  StageWorker worker(place, *session, options, tool);
  worker.UseLink(link);
  PassSource source(place, *session, options, link, ended);
  STI_RETURN_IF_ERROR(RunPasses(place, *session, worker, source, link));
  return worker.Finish();
}

/// Runs the stage until its input ends, and ends its link, which the only stage has none of.
/// Returns the exit code.
Result<int> ServeLinked(const StagePlace& place, const RunOptions& options, const Tool& tool,
                        const std::unique_ptr<StageLink> link, const std::atomic<bool>& ended) {
  Result<int> ran = Serve(place, options, tool, link.get(), ended);
  if (!link) return ran;
  const Status finished = link->Finish(EndOf(place, ran.ok() ? Status() : Status(ran.error())));
  if (ran.ok() && !finished.ok()) return finished.error();
  return ran;
}

/// Runs the stage at a place until its input ends. Returns the exit code.
Result<int> RunPlaced(const StagePlace& place, const Tool& tool, const RunOptions& options,
                      MpiRanks* ranks) {
  // The neighbours hear of this stage before its model is open, which may take long. A rank that
  // ends without a link does not wait for the others: its launcher takes it for lost, and ends all.
  STI_ASSIGN_OR_RETURN(const uint32_t hidden, HiddenOf(options.model));
  Interrupt interrupt;
  StopWatch stop(interrupt);
  STI_ASSIGN_OR_RETURN(std::unique_ptr<StageLink> link,
                       OpenLink(place, options, ranks, hidden, stop, &interrupt));
  Result<int> ran = ServeLinked(place, options, tool, std::move(link), stop.ended());
  if (ranks != nullptr) LeaveRanks(*ranks, ran.ok(), TimeoutOf(place, options));
  return ran;
}

Status CheckStaged(const Plan& plan, const RunOptions& options) {
  if (plan.staged) return {};
  return UsageError("--stage is for plans with stages, which sti-plan --cluster makes, and " +
                    options.plan + " has none");
}

}  // namespace

Result<size_t> FindStage(const Plan& plan, const RunOptions& options) {
  STI_RETURN_IF_ERROR(CheckStaged(plan, options));
  const std::string name = options.stage == "auto" ? HostName() : options.stage;
  if (const std::optional<size_t> found = plan.staged->Find(name)) return *found;
  std::string devices;
  for (const PlanStage& stage : plan.staged->stages)
    devices += (devices.empty() ? "" : ", ") + stage.device;
  return UsageError("--stage: " + options.plan + " has no stage on " + OneLine(name) +
                    "; its devices are " + devices);
}

Result<int> RunStage(const Tool& tool, const RunOptions& options) {
  StagePlace place;
  STI_ASSIGN_OR_RETURN(place.plan, ReadPlan(options.plan, tool));
  if (options.link == StageCarrier::kFrames) {
    STI_ASSIGN_OR_RETURN(place.number, FindStage(place.plan, options));
    STI_RETURN_IF_ERROR(CheckStreams(place));
    return RunPlaced(place, tool, options, nullptr);
  }
  STI_RETURN_IF_ERROR(CheckStaged(place.plan, options));
  STI_ASSIGN_OR_RETURN(const auto ranks, JoinRanks());
  STI_ASSIGN_OR_RETURN(place.number, FindStageOfRank(place.plan, options, *ranks));
  RunOptions own = options;
  own.stage = place.own().device;
  return RunPlaced(place, tool, own, ranks.get());
}

}  // namespace sti
