#include "api/evaluate.h"

#include <utility>
#include <vector>

#include "base/process_memory.h"
#include "text/tokenizer.h"

namespace sti {
namespace {

// The latency of an answer as a multiple of its pipeline's bound, of all cascade levels together.
double OverBound(const Answer& answer) {
  double latency_us = answer.run.latency_us;
  double bound_us = PipelineBoundUs(answer.run);
  if (answer.cascade) {
    for (const CascadeLevelRun& level : answer.cascade->before()) {
      latency_us += level.run.latency_us;
      bound_us += PipelineBoundUs(level.run);
    }
  }
  return latency_us / bound_us;
}

void AddUnanswered(const Error& error, std::span<const uint32_t> truth, const EvaluationRun& run,
                   Evaluation& evaluation) {
  const uint64_t row = evaluation.examples() + 1;
  evaluation.AddUnanswered(truth, run.unanswered ? run.unanswered(error, row) : error.Message());
  evaluation.reads_failed |= error.kind == ErrorKind::kReadFailed;
}

// Adds what the plan promised and the process took.
void AddPlan(const Session& session, Evaluation& evaluation) {
  const Plan& plan = session.plan();
  evaluation.preload_bytes = session.status().preload_bytes;
  evaluation.peak_rss_bytes = PeakRssBytes();
  evaluation.target_us = plan.target_us;
  if (plan.cascade) {
    evaluation.predicted_latency_us = plan.cascade->MedianPathUs();
    if (evaluation.predicted_latency_us) evaluation.predicted_p99_us = plan.cascade->worst_path_us;
  } else if (plan.predicted_latency_us > 0) {
    evaluation.predicted_latency_us = plan.predicted_latency_us;
    evaluation.predicted_p99_us = plan.predicted_p99_us;
  }
}

}  // namespace

AnsweredRow AnsweredRowOf(const Answer& answer, Problem problem, std::span<const uint32_t> truth,
                          double threshold) {
  const std::vector<float> logits = answer.logits();
  AnsweredRow row;
  row.judged = Judge(problem, logits, truth, threshold);
  row.given = LabelsOf(problem, logits, threshold);
  row.latency_us = answer.latency_us;
  row.stall_us = answer.stall_us();
  row.over_bound = OverBound(answer);
  row.bytes_read = answer.bytes_read();
  row.late = answer.late();
  row.degraded = !answer.run.degraded.empty();
  row.guaranteed = answer.plan != nullptr && answer.plan->fallback;
  if (answer.run.fallback) row.fallback_rows_missing = answer.run.fallback->rows_missing;
  if (answer.cascade) {
    row.cascade = CascadeRow{answer.cascade->level, answer.cascade->returned == Returned::kDeadline,
                             answer.cascade->words_pruned};
  }
  return row;
}

Result<Evaluation> EvaluateRows(Session& session, std::span<const Example> examples,
                                const EvaluationRun& run) {
  Evaluation evaluation;
  evaluation.cascade = CascadeTallyOf(session.plan());
  Answer answer;
  for (const Example& example : examples) {
    if (run.cancelled && run.cancelled()) break;
    if (!run.in_one_engagement) STI_RETURN_IF_ERROR(session.EndEngagement());
    if (run.before_row) STI_RETURN_IF_ERROR(run.before_row());
    const auto taken = Clock::now();
    STI_ASSIGN_OR_RETURN(const Encoding encoding, session.Encode(example.text, example.pair));
    const Status asked = session.Ask(encoding, taken, &answer);
    const std::vector<uint32_t> truth = *example.Truth();
    if (const Error* own = OwnErrorOf(asked)) {
      session.SkipTurn();
      AddUnanswered(*own, truth, run, evaluation);
    } else {
      STI_RETURN_IF_ERROR(asked);
      evaluation.Add(truth,
                     AnsweredRowOf(answer, session.info().problem, truth, session.threshold()));
      if (run.answered) run.answered(answer);
    }
    if (run.progress) run.progress(evaluation.examples(), examples.size());
  }
  evaluation.rows = DigestOfRows(examples.first(evaluation.examples()), session.info().labels);
  if (run.baseline != nullptr && run.baseline->right.size() == evaluation.examples()) {
    evaluation.compared = Compare(*run.baseline, evaluation.right);
  }
  AddPlan(session, evaluation);
  return evaluation;
}

}  // namespace sti
