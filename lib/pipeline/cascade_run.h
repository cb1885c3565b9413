// Runs one input through the levels of a plan's cascade, cheapest first, until one of them is sure
// or there is no time for the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pipeline/pass.h"
#include "pipeline/pipeline.h"
#include "pipeline/run_result.h"
#include "types/limits.h"
#include "types/plan.h"

namespace sti {

/// One text as the model takes it.
struct CascadeInput {
  TokenInput tokens;
  /// [tokens] The word of each id, or kNoWord; empty: not known, and no word is left out.
  std::span<const uint32_t> words;
};

/// One input on its way through the levels of a plan's cascade. One thread at a time.
class CascadePolicy {
 public:
  /// `plan`, which has a cascade, and what `input` points to outlive the policy. Random dispatch is
  /// drawn by the input's ids and `seed`.
  CascadePolicy(const Plan& plan, const CascadeInput& input, uint64_t seed)
      : plan_(plan), input_(input), seed_(seed) {}

  /// Returns the level at hand, from 0.
  [[nodiscard]] size_t level() const { return level_; }
  /// Returns what the level at hand computes with.
  [[nodiscard]] const TokenInput& tokens() const { return input_.tokens; }
  /// Returns whether GoOn needs to know what tokens have received of this level's attention.
  [[nodiscard]] bool wants_attention() const;
  /// Returns how many words of the text the level at hand does without.
  [[nodiscard]] uint32_t words_pruned() const { return words_pruned_; }

  /// Returns how sure the level at hand is of its label, by its logits [labels] (Tabi eq. 3).
  [[nodiscard]] double ConfidenceIn(std::span<const float> logits) const;
  /// Returns whether an input of this confidence goes on (Tabi eq. 4). From the last level none
  /// does. A level that is `degraded`, since some of its shards had fewer bits than planned,
  /// returns none: its confidence was not measured.
  [[nodiscard]] bool GoesOn(double confidence, bool degraded) const;
  /// Takes the input to the next level, with the words that received enough of this level's
  /// `attention` [tokens]; all without it. `logits` [labels] are this level's. Control tokens and
  /// types go along (Tabi eq. 5).
  void GoOn(std::span<const float> logits, std::span<const float> attention);
  /// Returns the probabilities [labels] that the level at hand, which has these logits, finds with
  /// the one before it (Tabi eq. 6); none if its logits count alone.
  [[nodiscard]] std::vector<float> Together(std::span<const float> logits) const;

 private:
  [[nodiscard]] const PlanCascade& cascade() const { return *plan_.cascade; }
  [[nodiscard]] bool is_last() const { return level_ == cascade().levels.size(); }
  [[nodiscard]] double TemperatureOf(size_t level) const;

  const Plan& plan_;
  CascadeInput input_;  ///< of the level at hand
  const uint64_t seed_;
  size_t level_ = 0;
  uint32_t words_pruned_ = 0;
  std::vector<float> logits_before_;  ///< [labels] of the level before, where they still count
  /// [tokens] The input's ids, types and words once some are left out.
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> types_;
  std::vector<uint32_t> words_;
};

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
  const PlanCore* plan = nullptr;  ///< of the level, which the pipeline's plan has
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
/// Pipeline::Check does. `terms` hold for all levels together, and name neither route nor what
/// is kept. `result` and `report` are those of the level that answered. With a deadline a later
/// level runs only if there is time for its bases, and a level that is degraded answers only if
/// there is none. An error is as Pipeline::Run has it, of whichever level: one whose logits are no
/// numbers answers nothing, and no level does in its place. In the buffer is then what the plan
/// says for the next input.
[[nodiscard]] Status RunCascade(Pipeline& pipeline, const CascadeInput& input,
                                const RunTerms& terms, uint64_t seed, RunResult* result,
                                CascadeReport* report);

}  // namespace sti
