// One open model: text in, a labelled answer out.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "options.h"
#include "pipeline/pipeline.h"
#include "text/model_tokenizer.h"
#include "text/tokenizer.h"

namespace sti {

struct Answer {
  RunResult run;
  const Plan* plan = nullptr;  ///< the plan or variant that ran, the pipeline's
  std::vector<float> scores;   ///< [labels] probabilities
  uint32_t label = 0;          ///< the most probable
  /// Of a multi-label model, those whose score reaches the threshold, the most probable first.
  std::vector<uint32_t> labels;
  uint32_t tokens = 0;
  bool truncated = false;
  double latency_us = 0;  ///< from `taken` to here
  std::optional<bool> deadline_met;
  uint64_t turn = 1;  ///< in its engagement
  bool cold = false;  ///< the plan is of a cold start, and this was it
};

class Session {
 public:
  /// Opens model, plan and tokenizer; warns through `tool` where a person should know.
  static Result<std::unique_ptr<Session>> Open(const RunOptions& options, const Tool& tool);

  /// A line as the options say: text, a pair, or ids. An error here is the input's own: it cannot
  /// be used, others can.
  [[nodiscard]] Result<Encoding> Encode(const std::string& line) const;
  [[nodiscard]] Result<Encoding> Encode(const std::string& text,
                                        const std::optional<std::string>& pair) const;

  /// The engagement is over; see Pipeline::EndTurns.
  [[nodiscard]] Status EndTurns();
  /// An input that could not be used is a turn all the same.
  void SkipTurn() { ++turn_; }

  /// Runs one input. `taken` is when its line was read; the first under a plan of a cold start is
  /// timed from the start of the process. `answer` is used again. An error here is the model's or
  /// the machine's.
  [[nodiscard]] Status Ask(const Encoding& encoding, Clock::time_point taken, Answer* answer);

  /// Score that a label of a multi-label model needs.
  [[nodiscard]] double threshold() const { return options_.threshold.value_or(0.5); }

  [[nodiscard]] Pipeline& pipeline() { return *pipeline_; }
  [[nodiscard]] const ModelInfo& info() const { return pipeline_->index().info; }

 private:
  Session(const RunOptions& options, const Tool& tool) : options_(options), tool_(tool) {}
  [[nodiscard]] bool degrades() const { return options_.on_late == "degrade"; }
  [[nodiscard]] std::vector<uint32_t> LabelsAbove(std::span<const float> scores) const;
  [[nodiscard]] Result<Encoding> EncodeIds(const std::string& line) const;

  void WarnOfDrift();

  const RunOptions& options_;
  const Tool& tool_;
  std::optional<Tokenizer> tokenizer_;
  uint64_t turn_ = 0;
  bool cold_ =
      false;  ///< the next input is the first, and its time counts from the process's start
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace sti
