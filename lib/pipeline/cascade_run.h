// Runs one input through the levels of a plan's cascade, cheapest first, until one of them is sure
// or there is no time for the next.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/cascade.h"
#include "pipeline/pass.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_result.h"
#include "types/limits.h"

namespace sti {

/// Why an input went through no more levels than it did.
enum class Returned : uint8_t {
  kEarly,     ///< the level was sure of its label
  kFinal,     ///< the level is the last
  kDeadline,  ///< there was no time for the next level
};

/// Returns "early", "final" or "deadline".
std::string_view NameOf(Returned returned);

/// The run of a level that did not answer.
struct CascadeLevelRun {
  const Plan* plan = nullptr;  ///< of the level, which the pipeline's plan has
  RunResult run;
  std::shared_ptr<const LoadSchedule> schedule;  ///< that it read by
  double began_us = 0;                           ///< since the first level began
};

/// The account of one input's way through a cascade, beside the run of the level that answered.
struct CascadeReport {
  uint32_t level = 1;     ///< that answered, from 1
  double confidence = 0;  ///< greatest of that level's softmax, at its temperature
  Returned returned = Returned::kFinal;
  uint32_t words_pruned = 0;  ///< of the text, that this level did without
  double began_us = 0;        ///< when its run began, since the first level began
  /// The runs of the levels before it, and what is left of earlier inputs.
  std::array<CascadeLevelRun, kMaxCascadeLevels - 1> runs;
  /// [labels] The probabilities of this level and the one before it together; empty: its logits
  /// count alone.
  std::vector<float> together;

  /// Returns the runs of the levels before the one that answered.
  [[nodiscard]] std::span<const CascadeLevelRun> before() const {
    return std::span(runs).first(level - 1);
  }
  /// Returns the bytes that the levels before have read, and how long they have waited for reads.
  [[nodiscard]] uint64_t BytesReadBefore() const;
  [[nodiscard]] double StallBeforeUs() const;
};

/// Runs an input under the pipeline's plan, which has a cascade: one sequence, checked as
/// Pipeline::CheckInput does. `terms` hold for all levels together, and name neither route nor what
/// is kept. `result` and `report` are those of the level that answered. With a deadline a later
/// level runs only if there is time for its bases, and a level that is degraded answers only if
/// there is none. An error is as Pipeline::Run has it, of whichever level: one whose logits are no
/// numbers answers nothing, and no level does in its place. In the buffer is then what the plan
/// says for the next input.
[[nodiscard]] Status RunCascade(Pipeline& pipeline, const CascadeInput& input,
                                const RunTerms& terms, uint64_t seed, RunResult* result,
                                CascadeReport* report);

}  // namespace sti
