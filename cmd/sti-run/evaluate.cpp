// The job of sti-run --eval: a data set through a session, a summary, and gates on it.
#include "api/evaluate.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "base/log.h"
#include "common/evaluation_text.h"
#include "common/files.h"
#include "common/remedies.h"
#include "jobs.h"
#include "session.h"
#include "watch.h"

namespace sti {
namespace {

// Returns the baseline, if one was given, once it is sure that it is of these rows.
Result<std::optional<Baseline>> BaselineOf(const std::string& path, const Digest& rows,
                                           uint64_t count) {
  if (path.empty()) return std::optional<Baseline>();
  STI_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  const std::string name = InputName(path);
  auto baseline = ParseBaseline(text);
  if (!baseline.ok()) return Error(baseline.error()).At(name);
  const Status same = CheckRows(*baseline, rows, count);
  if (!same.ok()) return Error(same.error()).At(name);
  return std::optional<Baseline>(*std::move(baseline));
}

// With its number, as a line's own error has its line; also when quiet, as it makes the exit code.
void TellUnanswered(Error error, uint64_t number, const Tool& tool) {
  error.source = Source::kNone;
  tool.Complain(LineFor(std::move(error).At("input " + std::to_string(number))));
}

// Returns the evaluation of the examples that were answered before the user stopped it.
Result<Evaluation> Measure(Session& session, const RunOptions& options, const Tool& tool,
                           Adjuster& adjuster, Watch& watch) {
  const LogSink log = [&tool](const LogLine& line) { tool.Log(line); };
  EvaluationRun run;
  run.in_one_engagement = options.turn_gap_us.value_or(0) != 0;
  run.read_image = [&options](const Session& asked, const std::string& path) {
    return ReadLineInput(options, asked, path);
  };
  run.before_row = [&adjuster] { return adjuster.Look(); };
  run.answered = [&](const Answer& answer) { watch.See(answer, session); };
  run.unanswered = [&](const Error& error, uint64_t row) {
    watch.Skip();
    if (!tool.json()) TellUnanswered(error, row, tool);
    return LineFor(error);
  };
  run.progress = tool.Progress("evaluating");
  run.cancelled = StopRequested;
  STI_ASSIGN_OR_RETURN(
      const std::vector<Example> examples,
      ReadDataset(options.eval, session.answer_info(), options.columns, true, log));
  STI_ASSIGN_OR_RETURN(
      const std::optional<Baseline> baseline,
      BaselineOf(options.baseline, DigestOfExamples(session, examples), examples.size()));
  run.baseline = baseline ? &*baseline : nullptr;
  return EvaluateRows(session, examples, run);
}

// Gates speak on stderr, so that stdout stays the summary. Returns the exit code.
int ApplyGates(const Evaluation& evaluation, const Gates& gates, const Tool& tool) {
  const std::vector<Gate> failed = FailedGates(evaluation, gates);
  for (const Gate gate : failed) tool.Complain(WhyFailed(gate, evaluation, gates));
  return failed.empty() ? 0 : ExitCode(ErrorKind::kInfeasible);
}

}  // namespace

Result<int> Evaluate(Session& session, const RunOptions& options, const Tool& tool,
                     Adjuster& adjuster) {
  if (options.gates.max_misses && !session.plan().target_us) {
    return UsageError("--max-misses needs a target to miss; give a --plan that has one");
  }
  Watch watch(options, tool);
  STI_ASSIGN_OR_RETURN(const Evaluation evaluation,
                       Measure(session, options, tool, adjuster, watch));
  STI_RETURN_IF_ERROR(watch.Finish());
  if (evaluation.examples() == 0) return 0;
  const std::string summary = tool.json()
                                  ? EvaluationToJson(evaluation, session.answer_info()) + '\n'
                                  : DescribeEvaluation(evaluation, session.answer_info());
  std::fwrite(summary.data(), 1, summary.size(), stdout);
  const int code = ApplyGates(evaluation, options.gates, tool);
  if (evaluation.reads_failed) return ExitCode(ErrorKind::kReadFailed);
  if (code == 0 && options.on_late == OnLate::kFail && evaluation.deadline_misses > 0) {
    return InfeasibleError(Counted(evaluation.deadline_misses, "input") + " missed the target");
  }
  return code == 0 && !evaluation.errors.empty() ? ExitCode(ErrorKind::kDamaged) : code;
}

}  // namespace sti
