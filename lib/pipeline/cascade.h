// The policy of a cascade (Tabi 4): what becomes of one input when a level has found its logits. It
// returns early with that level's label, or goes on to the next with the words that matter; and
// what two levels have found can count together. The rules are those of types/cascade.h.
//
// Pure: it takes logits and attention and gives verdicts. RunCascade runs the levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pipeline/pass.h"
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

}  // namespace sti
