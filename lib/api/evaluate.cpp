#include "api/evaluate.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/function_ref.h"
#include "base/process_memory.h"
#include "text/tagged_texts.h"
#include "text/tokenizer.h"
#include "types/score.h"

namespace sti {
namespace {

// The latency of an answer as a multiple of its pipeline's bound, of all cascade levels
// or windows together.
double OverBound(const Answer& answer) {
  double latency_us = answer.run.latency_us;
  double bound_us = PipelineBoundUs(answer.run);
  if (answer.cascade) {
    for (const CascadeLevelRun& level : answer.cascade->before()) {
      latency_us += level.run.latency_us;
      bound_us += PipelineBoundUs(level.run);
    }
  }
  if (answer.windows) {
    latency_us += answer.windows->run_us;
    bound_us += answer.windows->bound_us;
  }
  return latency_us / bound_us;
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

// Returns the numbers of an answer that are not about its labels.
AnsweredRow MeasuredRowOf(const Answer& answer) {
  AnsweredRow row;
  row.latency_us = answer.latency_us;
  row.stall_us = answer.stall_us();
  row.over_bound = OverBound(answer);
  row.bytes_read = answer.bytes_read();
  row.late = answer.late();
  row.degraded = !answer.degraded().empty();
  row.guaranteed = answer.plan != nullptr && answer.plan->fallback;
  if (const auto fallback = answer.fallback()) row.fallback_rows_missing = fallback->rows_missing;
  if (answer.windows) row.windows = answer.windows->windows;
  if (answer.cascade) {
    row.cascade = CascadeRow{answer.cascade->level, answer.cascade->returned == Returned::kDeadline,
                             answer.cascade->words_pruned};
  }
  return row;
}

// Returns the tags that an answer gives the words of a text. One that did not fit is outside.
std::vector<Tag> TagsOf(const Session& session, const Example& text, const Encoding& encoding,
                        const Answer& answer) {
  std::vector<Tag> tags;
  for (const auto& label : session.LabelsOfWords(encoding, answer, text.tagged->words))
    tags.push_back(label ? session.tags()[*label] : Tag());
  return tags;
}

// Asks a session for the rows of a data set, one after another.
class RowAsker {
 public:
  RowAsker(Session& session, const EvaluationRun& run) : session_(session), run_(run) {}

  // Adds the answer to an example, whose truth is of the kind that the model gives.
  Status Add(const Example& example, Evaluation& evaluation) {
    if (session_.answer_info().embeds()) return AddPair(example, evaluation);
    if (session_.answer_info().labels_tokens()) return AddTagged(example, evaluation);
    return AddLabelled(example, evaluation);
  }

 private:
  // Adds the answer to a labelled text, or pair of texts.
  Status AddLabelled(const Example& example, Evaluation& evaluation) {
    const std::vector<uint32_t> truth = *example.Truth();
    STI_ASSIGN_OR_RETURN(const std::optional<Error> own, Ask(example.text, example.pair));
    if (own) {
      AddUnanswered(*own, evaluation, [&](std::string reason) {
        evaluation.AddUnanswered(truth, std::move(reason));
      });
      return {};
    }
    const ModelInfo& info = session_.answer_info();
    evaluation.Add(truth, AnsweredRowOf(answer_, info.problem, truth, session_.threshold()));
    return {};
  }

  // Adds what the texts of a pair are embedded to. Each is an input of its own.
  Status AddPair(const Example& example, Evaluation& evaluation) {
    AnsweredRow rows[2];
    std::vector<float> first;
    for (const bool is_first : {true, false}) {
      STI_ASSIGN_OR_RETURN(const std::optional<Error> own,
                           Ask(is_first ? example.text : *example.pair, std::nullopt));
      if (own) {
        AddUnanswered(*own, evaluation,
                      [&](std::string reason) { evaluation.AddUnansweredPair(std::move(reason)); });
        return {};
      }
      rows[is_first ? 0 : 1] = MeasuredRowOf(answer_);
      if (is_first) first = std::get<Embedding>(answer_.content).values;
    }
    const double cosine = Cosine(first, std::get<Embedding>(answer_.content).values);
    if (std::isnan(cosine)) {
      AddUnanswered(DataError("an embedding is all zero, so that it points nowhere"), evaluation,
                    [&](std::string reason) { evaluation.AddUnansweredPair(std::move(reason)); });
      return {};
    }
    evaluation.AddPair(*example.score, cosine, rows[0], rows[1]);
    return {};
  }

  // Adds the spans of a text whose words are tagged.
  Status AddTagged(const Example& text, Evaluation& evaluation) {
    const std::vector<WordSpan> truth = WordSpansOf(text.tagged->tags);
    STI_ASSIGN_OR_RETURN(const std::optional<Error> own, Ask(text.text, std::nullopt));
    if (own) {
      std::vector<uint32_t> kinds;
      kinds.reserve(truth.size());
      for (const WordSpan& span : truth) kinds.push_back(span.kind);
      AddUnanswered(*own, evaluation, [&](std::string reason) {
        evaluation.AddUnanswered(kinds, std::move(reason));
      });
      return {};
    }
    const std::vector<WordSpan> given =
        WordSpansOf(TagsOf(session_, text, std::get<Encoding>(input_), answer_));
    AnsweredRow row = MeasuredRowOf(answer_);
    row.judged.right = truth == given;
    evaluation.AddSpans(truth, given, row);
    evaluation.cut_texts += answer_.truncated ? 1 : 0;
    return {};
  }

  // Returns nothing with the answer in `answer_`, or the error that is the text's own.
  Result<std::optional<Error>> Ask(std::string_view text, std::optional<std::string_view> pair) {
    if (!run_.in_one_engagement) STI_RETURN_IF_ERROR(session_.EndEngagement());
    if (run_.before_row) STI_RETURN_IF_ERROR(run_.before_row());
    const auto taken = Clock::now();
    auto read = session_.info().has_text() ? ReadText(text, pair)
                                           : run_.read_image(session_, std::string(text));
    // A text is always one, and an image may be none.
    if (!read.ok() && session_.info().has_text()) return read.error();
    const Status asked = read.ok() ? sti::Ask(session_, *read, taken, &answer_) : Status();
    if (const Error* own = read.ok() ? OwnErrorOf(asked) : &read.error()) {
      session_.SkipTurn();
      return std::optional<Error>(*own);
    }
    STI_RETURN_IF_ERROR(asked);
    input_ = *std::move(read);
    if (run_.answered) run_.answered(answer_);
    return std::optional<Error>();
  }

  Result<SessionInput> ReadText(std::string_view text, std::optional<std::string_view> pair) {
    STI_ASSIGN_OR_RETURN(Encoding encoding, session_.Encode(text, pair));
    return SessionInput(std::move(encoding));
  }

  void AddUnanswered(const Error& error, Evaluation& evaluation,
                     FunctionRef<void(std::string)> add) {
    const uint64_t row = evaluation.examples() + 1;
    add(run_.unanswered ? run_.unanswered(error, row) : error.Message());
    evaluation.reads_failed |= error.kind == ErrorKind::kReadFailed;
  }

  Session& session_;
  const EvaluationRun& run_;
  SessionInput input_;  // that was asked last
  Answer answer_;
};

}  // namespace

AnsweredRow AnsweredRowOf(const Answer& answer, Problem problem, std::span<const uint32_t> truth,
                          double threshold) {
  const std::vector<float> logits = answer.logits();
  AnsweredRow row = MeasuredRowOf(answer);
  row.judged = Judge(problem, logits, truth, threshold);
  row.given = LabelsOf(problem, logits, threshold);
  return row;
}

Digest DigestOfExamples(const Session& session, std::span<const Example> examples) {
  if (session.info().labels_tokens()) return DigestOfTagged(examples, session.tags());
  return DigestOfRows(examples, session.answer_info().labels);
}

Result<Evaluation> EvaluateRows(Session& session, std::span<const Example> examples,
                                const EvaluationRun& run) {
  Evaluation evaluation;
  evaluation.cascade = CascadeTallyOf(session.plan());
  if (session.answer_info().embeds()) evaluation.pairs.emplace();
  if (session.answer_info().labels_tokens()) evaluation.span_names = session.tags().names();
  RowAsker asker(session, run);
  for (const Example& example : examples) {
    if (run.cancelled && run.cancelled()) break;
    STI_RETURN_IF_ERROR(asker.Add(example, evaluation));
    if (run.progress) run.progress(evaluation.examples(), examples.size());
  }
  evaluation.rows = DigestOfExamples(session, examples.first(evaluation.examples()));
  if (run.baseline != nullptr && run.baseline->right.size() == evaluation.examples())
    evaluation.compared = Compare(*run.baseline, evaluation.right);
  AddPlan(session, evaluation);
  return evaluation;
}

}  // namespace sti
