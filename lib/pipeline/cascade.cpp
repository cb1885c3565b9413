#include "pipeline/cascade.h"

#include "types/cascade.h"

namespace sti {

bool CascadePolicy::wants_attention() const {
  return !is_last() && cascade().levels[level_].rule.prune_alpha > 0 &&
         input_.words.size() == input_.tokens.ids.size();
}

double CascadePolicy::TemperatureOf(size_t level) const {
  return level < cascade().levels.size() ? cascade().levels[level].temperature
                                         : cascade().temperature;
}

double CascadePolicy::ConfidenceIn(std::span<const float> logits) const {
  return Confidence(logits, TemperatureOf(level_));
}

// Each level draws anew: by one draw for all, who was sent on by chance would be sent on again.
bool CascadePolicy::GoesOn(double confidence, bool degraded) const {
  if (is_last()) return false;
  return degraded ||
         sti::GoesOn(confidence, cascade().levels[level_].rule, input_.tokens.ids, seed_ + level_);
}

void CascadePolicy::GoOn(std::span<const float> logits, std::span<const float> attention) {
  const CascadeRule& rule = cascade().levels[level_].rule;
  if (rule.ensemble_weight < 1) logits_before_.assign(logits.begin(), logits.end());
  ++level_;
  if (attention.size() != input_.tokens.ids.size() || input_.words.size() != attention.size())
    return;
  const std::vector<bool> kept = KeptTokens(attention, input_.words, rule.prune_alpha);
  const uint32_t left_out = WordsLeftOut(input_.words, kept);
  if (left_out == 0) return;
  words_pruned_ += left_out;
  ids_ = Kept(input_.tokens.ids, kept);
  types_ = Kept(input_.tokens.types, kept);
  words_ = Kept(input_.words, kept);
  input_ = {{ids_, types_}, words_};
}

std::vector<float> CascadePolicy::Together(std::span<const float> logits) const {
  if (level_ == 0) return {};
  const double weight = cascade().levels[level_ - 1].rule.ensemble_weight;
  if (weight >= 1) return {};
  std::vector<float> probabilities(logits.size());
  Ensemble(logits_before_, TemperatureOf(level_ - 1), logits, TemperatureOf(level_), weight,
           probabilities);
  return probabilities;
}

}  // namespace sti
