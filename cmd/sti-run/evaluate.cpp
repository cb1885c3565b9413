// The job of sti-run --eval: a data set through a session, a summary, and gates on it.
#include <cstdio>

#include "base/counted.h"
#include "base/process_memory.h"
#include "common/files.h"
#include "common/remedies.h"
#include "evaluation.h"
#include "jobs.h"
#include "watch.h"

namespace sti {
namespace {

// Returns the baseline, if one was given, once it is sure that it is of these rows.
Result<std::optional<Baseline>> BaselineOf(const std::string& path,
                                           std::span<const Example> examples,
                                           const ModelInfo& info) {
  if (path.empty()) return std::optional<Baseline>();
  STI_ASSIGN_OR_RETURN(const std::string text, ReadInput(path));
  const std::string name = InputName(path);
  auto baseline = ParseBaseline(text);
  if (!baseline.ok()) return Error(baseline.error()).At(name);
  const Status same = CheckRows(*baseline, DigestOfRows(examples, info.labels), examples.size());
  if (!same.ok()) return Error(same.error()).At(name);
  return std::optional<Baseline>(*std::move(baseline));
}

// With its number, as a line's own error has its line; also when quiet, as it makes the exit code.
void TellUnanswered(Error error, size_t number, const Tool& tool) {
  error.source = Source::kNone;
  tool.Complain(LineFor(std::move(error).At("input " + std::to_string(number))));
}

void AddAnswer(const Session& session, std::span<const uint32_t> truth, const Answer& answer,
               Evaluation& evaluation) {
  const Problem problem = session.info().problem;
  const std::vector<float> logits = answer.logits();
  evaluation.Add(Judge(problem, logits, truth, session.threshold()), truth,
                 LabelsOf(problem, logits, session.threshold()), answer);
}

// Returns the evaluation of the examples that were answered before the user stopped it.
Result<Evaluation> Measure(Session& session, const RunOptions& options, const Tool& tool,
                           Adjuster& adjuster, Watch& watch) {
  STI_ASSIGN_OR_RETURN(std::vector<Example> examples,
                       ReadDataset(options.eval, session.pipeline().index(), options.columns, true,
                                   [&tool](const LogLine& line) { tool.Log(line); }));
  STI_ASSIGN_OR_RETURN(const std::optional<Baseline> baseline,
                       BaselineOf(options.baseline, examples, session.info()));
  ProgressSink progress = tool.Progress("evaluating");
  Evaluation evaluation;
  evaluation.cascade = CascadeTallyOf(session.pipeline().plan());
  Answer answer;
  for (size_t i = 0; i < examples.size() && !StopRequested(); ++i) {
    if (options.turn_gap_us.value_or(0) == 0) STI_RETURN_IF_ERROR(session.EndEngagement());
    STI_RETURN_IF_ERROR(adjuster.Look());
    auto taken = Clock::now();
    STI_ASSIGN_OR_RETURN(Encoding encoding, session.Encode(examples[i].text, examples[i].pair));
    const Status asked = session.Ask(encoding, taken, &answer);
    const std::vector<uint32_t> truth = *examples[i].Truth();
    if (const Error* own = OwnErrorOf(asked)) {
      session.SkipTurn();
      watch.Skip();
      evaluation.AddUnanswered(truth, LineFor(*own));
      evaluation.reads_failed |= own->kind == ErrorKind::kReadFailed;
      if (!tool.json()) TellUnanswered(*own, i + 1, tool);
    } else {
      STI_RETURN_IF_ERROR(asked);
      AddAnswer(session, truth, answer, evaluation);
      watch.See(answer, session);
    }
    if (progress) progress(i + 1, examples.size());
  }
  evaluation.rows =
      DigestOfRows(std::span(examples).first(evaluation.examples()), session.info().labels);
  if (baseline && baseline->right.size() == evaluation.examples()) {
    evaluation.compared = Compare(*baseline, evaluation.right);
  }
  const Plan& plan = session.pipeline().plan();
  evaluation.preload_bytes = session.pipeline().preload_bytes();
  evaluation.peak_rss_bytes = PeakRssBytes();
  evaluation.target_us = plan.target_us;
  if (plan.cascade) {
    evaluation.predicted_latency_us = plan.cascade->MedianPathUs();
    if (evaluation.predicted_latency_us) evaluation.predicted_p99_us = plan.cascade->worst_path_us;
  } else if (plan.predicted_latency_us > 0) {
    evaluation.predicted_latency_us = plan.predicted_latency_us;
    evaluation.predicted_p99_us = plan.predicted_p99_us;
  }
  return evaluation;
}

// Gates speak on stderr, so that stdout stays the summary. Returns the exit code.
int ApplyGates(const Evaluation& evaluation, const RunOptions& options, const Tool& tool) {
  const auto failed =
      FailedGates(evaluation, {options.min_accuracy, options.max_p99_us, options.max_memory_bytes,
                               options.max_input_bytes, options.max_misses, options.max_drop});
  for (const std::string& sentence : failed) tool.Complain(sentence);
  return failed.empty() ? 0 : ExitCode(ErrorKind::kInfeasible);
}

}  // namespace

Result<int> Evaluate(Session& session, const RunOptions& options, const Tool& tool,
                     Adjuster& adjuster) {
  if (options.max_misses && !session.pipeline().plan().target_us) {
    return UsageError("--max-misses needs a target to miss; give a --plan that has one");
  }
  Watch watch(options, tool);
  STI_ASSIGN_OR_RETURN(const Evaluation evaluation,
                       Measure(session, options, tool, adjuster, watch));
  STI_RETURN_IF_ERROR(watch.Finish());
  if (evaluation.examples() == 0) return 0;
  if (tool.json()) {
    std::printf("%s\n", EvaluationToJson(evaluation, session.info()).c_str());
  } else {
    PrintEvaluation(evaluation, session.info());
  }
  const int code = ApplyGates(evaluation, options, tool);
  if (evaluation.reads_failed) return ExitCode(ErrorKind::kReadFailed);
  if (code == 0 && options.on_late == OnLate::kFail && evaluation.deadline_misses > 0) {
    return InfeasibleError(Counted(evaluation.deadline_misses, "input") + " missed the target");
  }
  return code == 0 && !evaluation.errors.empty() ? ExitCode(ErrorKind::kDamaged) : code;
}

}  // namespace sti
