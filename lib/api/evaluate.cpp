#include "api/evaluate.h"

#include <functional>
#include <optional>
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

namespace {

AnsweredRow FiguresOf(const Answer& answer) {
  AnsweredRow row;
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

/// How rows of one kind are asked, and how their answers count.
template <typename Row>
struct RowRules {
  std::function<Result<Encoding>(const Row&)> encode;
  std::function<void(const Row&, const Encoding&, const Answer&, Evaluation&)> add;
  std::function<std::vector<uint32_t>(const Row&)> labels;  ///< of one without an answer
};

template <typename Row>
Result<Evaluation> AskRows(Session& session, std::span<const Row> rows, const EvaluationRun& run,
                           const RowRules<Row>& rules) {
  Evaluation evaluation;
  evaluation.cascade = CascadeTallyOf(session.plan());
  Answer answer;
  for (const Row& row : rows) {
    if (run.cancelled && run.cancelled()) break;
    if (!run.in_one_engagement) STI_RETURN_IF_ERROR(session.EndEngagement());
    if (run.before_row) STI_RETURN_IF_ERROR(run.before_row());
    const auto taken = Clock::now();
    STI_ASSIGN_OR_RETURN(const Encoding encoding, rules.encode(row));
    const Status asked = session.Ask(encoding, taken, &answer);
    if (const Error* own = OwnErrorOf(asked)) {
      session.SkipTurn();
      AddUnanswered(*own, rules.labels(row), run, evaluation);
    } else {
      STI_RETURN_IF_ERROR(asked);
      rules.add(row, encoding, answer, evaluation);
      if (run.answered) run.answered(answer);
    }
    if (run.progress) run.progress(evaluation.examples(), rows.size());
  }
  return evaluation;
}

// Adds what is said of all rows that were asked.
void AddWhole(const Session& session, const Digest& rows, const EvaluationRun& run,
              Evaluation& evaluation) {
  evaluation.rows = rows;
  if (run.baseline != nullptr && run.baseline->right.size() == evaluation.examples())
    evaluation.compared = Compare(*run.baseline, evaluation.right);
  AddPlan(session, evaluation);
}

// Returns the tags that an answer gives the words of a text. One that did not fit is outside.
std::vector<Tag> TagsOf(const Session& session, const TaggedText& text, const Encoding& encoding,
                        const Answer& answer) {
  const std::vector<std::optional<uint32_t>> labels =
      session.LabelsOfWords(encoding, answer, text.words);
  std::vector<Tag> tags;
  for (const auto& label : labels) tags.push_back(label ? session.tags()[*label] : Tag());
  return tags;
}

}  // namespace

AnsweredRow AnsweredRowOf(const Answer& answer, Problem problem, std::span<const uint32_t> truth,
                          double threshold) {
  const std::vector<float> logits = answer.logits();
  AnsweredRow row = FiguresOf(answer);
  row.judged = Judge(problem, logits, truth, threshold);
  row.given = LabelsOf(problem, logits, threshold);
  return row;
}

Result<Evaluation> EvaluateRows(Session& session, std::span<const Example> examples,
                                const EvaluationRun& run) {
  RowRules<Example> rules;
  rules.encode = [&](const Example& example) { return session.Encode(example.text, example.pair); };
  rules.labels = [](const Example& example) { return *example.Truth(); };
  rules.add = [&](const Example& example, const Encoding&, const Answer& answer,
                  Evaluation& evaluation) {
    const std::vector<uint32_t> truth = *example.Truth();
    evaluation.Add(
        truth, AnsweredRowOf(answer, session.answer_info().problem, truth, session.threshold()));
  };
  STI_ASSIGN_OR_RETURN(Evaluation evaluation, AskRows(session, examples, run, rules));
  AddWhole(session,
           DigestOfRows(examples.first(evaluation.examples()), session.answer_info().labels), run,
           evaluation);
  return evaluation;
}

Result<Evaluation> EvaluateTagged(Session& session, std::span<const TaggedText> texts,
                                  const EvaluationRun& run) {
  RowRules<TaggedText> rules;
  rules.encode = [&](const TaggedText& text) { return session.Encode(text.text); };
  rules.labels = [](const TaggedText& text) {
    std::vector<uint32_t> kinds;
    for (const WordSpan& span : WordSpansOf(text.tags)) kinds.push_back(span.kind);
    return kinds;
  };
  rules.add = [&](const TaggedText& text, const Encoding& encoding, const Answer& answer,
                  Evaluation& evaluation) {
    const std::vector<WordSpan> truth = WordSpansOf(text.tags);
    const std::vector<WordSpan> given = WordSpansOf(TagsOf(session, text, encoding, answer));
    AnsweredRow row = FiguresOf(answer);
    row.judged.right = truth == given;
    evaluation.AddSpans(truth, given, row);
    evaluation.cut_texts += answer.truncated ? 1 : 0;
  };
  STI_ASSIGN_OR_RETURN(Evaluation evaluation, AskRows(session, texts, run, rules));
  evaluation.span_names = session.tags().names();
  AddWhole(session, DigestOfTagged(texts.first(evaluation.examples()), session.tags()), run,
           evaluation);
  return evaluation;
}

}  // namespace sti
