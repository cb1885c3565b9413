// The job of sti-run with several --model: lines for one of them or another.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "api/served_models.h"
#include "base/mutex.h"
#include "common/files.h"
#include "common/lines.h"
#include "common/remedies.h"
#include "host.h"
#include "jobs.h"
#include "print.h"
#include "session.h"
#include "watch.h"

namespace sti {
namespace {

// A thread that answers takes this beside its model: stack, heap of its own, inputs that wait.
constexpr uint64_t kThreadBytes = 100'000;

// Models of this tool, which wait at its end for no read that hangs.
using OpenedModels = std::unique_ptr<ServedModels, CloseOrLeave>;

// The options of each model, as if it were the only one, with its name.
using OptionsOfEach = std::vector<RunOptions>;

Result<OptionsOfEach> SplitOptions(const RunOptions& options) {
  STI_ASSIGN_OR_RETURN(const std::vector<ModelChoice> choices, ParseModelChoices(options.models));
  OptionsOfEach each(choices.size(), options);
  for (size_t i = 0; i < choices.size(); ++i) {
    each[i].name = choices[i].name;
    each[i].model = choices[i].model;
    each[i].plan = choices[i].plan;
  }
  return each;
}

// Prints what becomes of the inputs of all models. Any thread may call.
class Printer {
 public:
  Printer(const OptionsOfEach& each, const Tool& tool) : each_(each), tool_(tool) {
    for (const RunOptions& options : each) watches_.emplace_back(options, tool);
    told_failed_.resize(each.size());
  }

  void Print(const Served& served) STI_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const RunOptions& options = each_[served.model];
    if (served.answer == nullptr) {
      PrintUnusable(tool_.json(), options.name, served.input, *served.error);
      Flush();
      watches_[served.model].Skip();
      if (served.failed) {
        TellFailure(served.model, *served.error);
      } else {
        unusable_ = true;
      }
      return;
    }
    if (tool_.json()) {
      PrintJson(options, served.input, *served.answer, served.session.answer_info(),
                served.waited_us);
    } else {
      PrintPlain(options.name, served.input, *served.answer, served.session.answer_info());
    }
    Flush();
    watches_[served.model].See(*served.answer, served.session);
  }

  // Prints that a line is for none of the models.
  void PrintUnknown(const std::string& line, const Error& error) STI_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    PrintUnnamed(tool_.json(), line, error);
    Flush();
    unusable_ = true;
  }

  // Says what happened in all. Call it when the threads have ended.
  Result<int> Finish(const ServedModels& served) STI_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    for (Watch& watch : watches_) STI_RETURN_IF_ERROR(watch.Finish());
    int code = 0;
    for (size_t i = 0; i < each_.size(); ++i) {
      const Status& failure = served.failure(i);
      if (failure.ok()) continue;
      TellFailure(i, failure.error());  // also one between inputs
      if (code == 0) code = ExitCode(failure.error().kind);
    }
    if (code != 0) return code;
    for (size_t i = 0; i < each_.size(); ++i) {
      if (each_[i].on_late == OnLate::kFail && watches_[i].mishaps().late > 0) {
        return InfeasibleError(each_[i].Prefix() +
                               "an input missed the target; plan with a longer --target");
      }
    }
    return unusable_ ? ExitCode(ErrorKind::kDamaged) : 0;
  }

  [[nodiscard]] bool output_closed() const { return output_closed_; }

 private:
  // The first of each model: others are in the lines of their inputs.
  void TellFailure(size_t model, const Error& error) STI_REQUIRES(mutex_) {
    if (!told_failed_[model]) tool_.Complain(each_[model].Prefix() + LineFor(error));
    told_failed_[model] = true;
  }

  void Flush() STI_REQUIRES(mutex_) {
    if (std::fflush(stdout) != 0) output_closed_ = true;
  }

  const OptionsOfEach& each_;
  const Tool& tool_;
  Mutex mutex_;
  std::deque<Watch> watches_ STI_GUARDED_BY(mutex_);
  std::vector<bool> told_failed_ STI_GUARDED_BY(mutex_);
  bool unusable_ STI_GUARDED_BY(mutex_) = false;
  std::atomic<bool> output_closed_{false};
};

Status CheckThreshold(const RunOptions& options, const std::vector<ModelToServe>& models) {
  const auto is_multi_label = [](const ModelToServe& model) {
    return model.file.index().info.problem == Problem::kMultiLabel;
  };
  if (!options.threshold || std::any_of(models.begin(), models.end(), is_multi_label)) return {};
  return UsageError(
      "--threshold is for multi-label models; each of these gives one label an input");
}

Status CheckGenerate(const RunOptions& options, const std::vector<ModelToServe>& models) {
  const auto continues = [](const ModelToServe& model) {
    return model.file.index().info.continues_texts();
  };
  if (!options.generate || std::ranges::any_of(models, continues)) return {};
  return UsageError("--generate is for models that continue texts; none of these does");
}

Status CheckSeed(const RunOptions& options, const std::vector<ModelToServe>& models) {
  const auto draws = [](const ModelToServe& model) { return LeavesToChance(model.plan); };
  if (!options.seed || std::any_of(models.begin(), models.end(), draws)) return {};
  return UsageError(
      "--seed is for plans with a cascade that sends inputs on by chance; none of these is one");
}

Result<OpenedModels> OpenAll(const RunOptions& options, const OptionsOfEach& each, Printer& printer,
                             const Tool& tool) {
  if (options.priority) TakePriority(tool);  // before any thread is made
  std::vector<ModelToServe> models;
  for (const RunOptions& one : each) {
    auto model = OpenModel(one, tool);
    if (!model.ok()) return Error(model.error()).At(one.name);
    models.push_back(std::move(*model));
  }
  STI_RETURN_IF_ERROR(CheckThreshold(options, models));
  STI_RETURN_IF_ERROR(CheckGenerate(options, models));
  STI_RETURN_IF_ERROR(CheckSeed(options, models));
  std::vector<const Plan*> plans(models.size());
  std::transform(models.begin(), models.end(), plans.begin(),
                 [](const ModelToServe& model) { return &model.plan; });
  ServingOptions serving;
  STI_ASSIGN_OR_RETURN(serving.threads, TakeCores(options, plans, tool));
  for (ModelToServe& model : models) model.options.clock_khz = ClockLimitKhz();
  serving.turn_gap_us = options.turn_gap_us.value_or(serving.turn_gap_us);
  serving.idle_us = options.idle_us;
  serving.encode = [&options](const Session& session, const std::string& input) {
    return ReadLineInput(options, session, input);
  };
  serving.tell = [&printer](const Served& served) { printer.Print(served); };
  serving.rested = GiveHeapBack;
  serving.cancelled = [&printer] { return StopRequested() || printer.output_closed(); };
  uint64_t held = 0;
  if (options.memory_bytes) {
    // One of the longest lines may be held, and the next is read meanwhile.
    constexpr uint64_t kLines = 2 * uint64_t{LineReader::kMaxLineBytes};
    static_assert(ServedModels::kMostHeldBytes <= LineReader::kMaxLineBytes);
    uint64_t later = kLines;
    for (const ModelToServe& model : models)
      later += kThreadBytes + MostInputBytes(options, model.file.index().info);
    serving.own_bytes = BytesForModels(options, later, &held);
  }
  auto served = ServedModels::Open(std::move(models), std::move(serving));
  if (!served.ok()) return InProcess(served.error(), options, held);
  return OpenedModels(served->release());
}

// Gives a line to the model that it names. Returns false once lines are of no use.
bool GiveLine(LineReader::Line line, const OptionsOfEach& each, Printer& printer,
              ServedModels& served) {
  const size_t tab = line.text.find('\t');
  if (tab == std::string::npos) {
    printer.PrintUnknown(line.text, DataError("no tab after the name of a model"));
    return true;
  }
  const std::string name = line.text.substr(0, tab);
  const auto named = std::find_if(each.begin(), each.end(),
                                  [&](const RunOptions& one) { return one.name == name; });
  if (named == each.end()) {
    printer.PrintUnknown(line.text, DataError("no model has the name '" + name + "'"));
    return true;
  }
  const Status usable = line.usable();
  line.text.erase(0, tab + 1);
  return served.Give(static_cast<size_t>(named - each.begin()), std::move(line.text), usable);
}

bool HasPlanFile(const OptionsOfEach& each) {
  return std::any_of(each.begin(), each.end(),
                     [](const RunOptions& one) { return !one.plan.empty(); });
}

// Gives each model that has a plan file what that holds now.
void ReadPlansAgain(const OptionsOfEach& each, const Tool& tool, ServedModels& served) {
  for (size_t i = 0; i < each.size(); ++i) {
    if (each[i].plan.empty()) continue;
    const auto tell = [&tool, &one = each[i]](const Status& taken) {
      if (taken.ok()) return tool.Say(one.Prefix() + one.plan + ": read again");
      tool.Warn(one.Prefix() + LineFor(taken.error()) + "; the plan in force stays");
    };
    auto plan = ReadPlan(each[i].plan, tool);
    if (plan.ok()) {
      served.GivePlan(i, *std::move(plan), tell);
    } else {
      tell(plan.error());
    }
  }
}

Status GiveLines(const RunOptions& options, const OptionsOfEach& each, Printer& printer,
                 const Tool& tool, ServedModels& served) {
  constexpr double kLook_us = 1e6;  // whether the reader of answers went away
  LineReader reader(STDIN_FILENO);
  while (!StopRequested() && !printer.output_closed()) {
    const bool waits = reader.Wait(kLook_us);
    if (TakeHangup()) ReadPlansAgain(each, tool, served);
    if (!waits) continue;
    STI_ASSIGN_OR_RETURN(auto line, reader.Next());
    if (!line || !GiveLine(*std::move(line), each, printer, served) || options.one_shot) break;
  }
  return {};
}

}  // namespace

Result<int> ServeSeveral(const RunOptions& options, const Tool& tool) {
  STI_ASSIGN_OR_RETURN(const OptionsOfEach each, SplitOptions(options));
  Printer printer(each, tool);
  const bool at_terminal = isatty(STDIN_FILENO) != 0;
  if (!at_terminal && HasPlanFile(each)) ListenForHangup(false);
  STI_ASSIGN_OR_RETURN(const auto served, OpenAll(options, each, printer, tool));
  if (at_terminal) tool.Say("ready; type a model's name, a tab and a text, end with Ctrl-D");
  const Status read = GiveLines(options, each, printer, tool, *served);
  served->Finish();
  STI_ASSIGN_OR_RETURN(const int code, printer.Finish(*served));
  STI_RETURN_IF_ERROR(read);
  return code;
}

}  // namespace sti
