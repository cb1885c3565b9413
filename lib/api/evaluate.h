// A data set through a session, row after row, and what its answers add up to
// (score/evaluation.h): labelled rows, where the model embeds pairs of texts with scores, and where
// it labels tokens texts whose words are tagged.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "api/input.h"
#include "api/session.h"
#include "base/log.h"
#include "base/result.h"
#include "score/evaluation.h"
#include "text/dataset.h"

namespace sti {

/// Says how rows are asked, and who hears of them. Everything is called from the calling thread;
/// what is empty is not called.
struct EvaluationRun {
  bool in_one_engagement = false;      ///< each row is the next turn; else each is turn 1
  const Baseline* baseline = nullptr;  ///< of these rows, to compare with; null: none
  InputReader read_image;              ///< of a row's text, which is a path, for models of images
  std::function<Status()> before_row;  ///< its error ends the evaluation
  std::function<void(const Answer&)> answered;
  /// Takes the error of a row, whose number counts from 1, that got no answer. Returns the error in
  /// one line, for the record; if it is empty, that is Error::Message.
  std::function<std::string(const Error&, uint64_t row)> unanswered;
  ProgressSink progress;
  CancelCheck cancelled;  ///< the rows before are the evaluation then
};

/// Returns the digest of examples and what is true of them, by what the session's model gives.
Digest DigestOfExamples(const Session& session, std::span<const Example> examples);

/// Asks the session for each of `examples`, which are labelled; of a model that embeds for each
/// text of a pair by itself, all of them with scores; of one that labels tokens for texts, all of
/// them tagged. A row whose error is its own (OwnErrorOf) is counted as unanswered; any other error
/// ends the evaluation. The peak of memory is that of the process, at the end.
Result<Evaluation> EvaluateRows(Session& session, std::span<const Example> examples,
                                const EvaluationRun& run);

/// Returns an answer, judged by the labels `truth`, ascending, in the numbers that an evaluation
/// adds up. In a multi-label model a label's score is at least `threshold`.
AnsweredRow AnsweredRowOf(const Answer& answer, Problem problem, std::span<const uint32_t> truth,
                          double threshold);

}  // namespace sti
