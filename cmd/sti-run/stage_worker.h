// The work of one stage of a split model: it computes passes, and the last stage prints their
// answers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/session.h"
#include "base/clock.h"
#include "common/tool.h"
#include "link/frame.h"
#include "link/stage_link.h"
#include "options.h"
#include "text/tokenizer.h"
#include "types/plan.h"
#include "vectors.h"

namespace sti {

/// A stage: its place among the others, and how it reaches them.
struct StagePlace {
  Plan plan;  ///< all of it
  size_t number = 0;

  [[nodiscard]] const PlanStage& own() const { return plan.staged->stages[number]; }
  [[nodiscard]] bool is_first() const { return number == 0; }
  [[nodiscard]] bool is_last() const { return number + 1 == plan.staged->stages.size(); }
  [[nodiscard]] std::string NameAt(size_t other) const {
    return other < plan.staged->stages.size() ? plan.staged->stages[other].device : "";
  }
};

/// One pass on its way through this stage.
struct StagePass {
  PassFrame frame;
  std::vector<Encoding> texts;  ///< of the first stage: ids of each line
  Clock::time_point taken;
  double wait_us = 0;  ///< for its input
};

/// Runs the passes of one stage. One thread.
class StageWorker {
 public:
  StageWorker(const StagePlace& place, Session& session, const RunOptions& options,
              const Tool& tool)
      : place_(place),
        session_(session),
        options_(options),
        tool_(tool),
        hidden_(session.info().shape.hidden) {
    if (place.is_last() && options.format != VectorFormat::kText)
      vectors_.emplace(options.format, options.dimensions.value_or(session.info().head_values()));
  }

  void UseLink(StageLink* link) { link_ = link; }

  /// Computes a pass: leaves in the frame what this stage gives for it, hidden rows or, in the last
  /// stage, what the head gives. Lines that fail get an error.
  Status Compute(StagePass* pass);
  /// Prints the answers of a pass that has gone through all stages.
  Status Answer(const StagePass& pass);
  /// Returns the exit code of a run that has ended well.
  Result<int> Finish();

  [[nodiscard]] bool output_closed() const { return output_closed_; }

 private:
  Status Run(const StagePass& pass, size_t begin, size_t end, std::vector<float>* values);
  Status RunAlone(StagePass* pass);
  void KeepFinite(PassFrame* frame);
  void Take(const Error& error, FrameLine* line);
  [[nodiscard]] size_t ValuesOf(const FrameLine& line) const;
  void PrintLine(const StagePass& pass, const FrameLine& line, std::span<const float> values);
  void PrintError(const FrameLine& line, const Error& error);
  void Flush() { output_closed_ = output_closed_ || std::fflush(stdout) != 0; }

  const StagePlace& place_;
  Session& session_;
  const RunOptions& options_;
  const Tool& tool_;
  const size_t hidden_;
  StageLink* link_ = nullptr;
  PassOutput output_;
  RunReport report_;
  sti::Answer answer_;
  std::optional<VectorWriter> vectors_;
  bool unusable_ = false;
  bool failed_ = false;
  bool output_closed_ = false;
};

}  // namespace sti
