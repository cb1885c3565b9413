#include "pipeline/cascade_run.h"

#include <utility>

#include "types/cascade.h"

namespace sti {
namespace {

/// The input as the policy has it now, on the level at hand.
Status RunLevel(Pipeline& pipeline, const CascadePolicy& policy, const RunTerms& terms,
                PassOutput* output, RunResult* result) {
  RunTerms own = terms;
  own.route = CascadeRoute(pipeline.plan(), policy.level());
  output->wants_attention = policy.wants_attention();
  output->values.swap(result->values);
  const Pass pass{policy.tokens(), {}};
  Status status = pipeline.Run(pass, own, output, result);
  output->values.swap(result->values);
  return status;
}

/// Puts the run that `result` and `report` tell of behind those of earlier levels.
void Leave(Pipeline& pipeline, RunResult* result, CascadeReport* report) {
  const uint32_t level = report->level - 1;
  CascadeLevelRun& left = report->runs[level];
  left.plan = &PlanOf(pipeline.plan(), CascadeRoute(pipeline.plan(), level));
  std::swap(left.run, *result);
  left.schedule = pipeline.status().schedule;
  left.began_us = report->began_us;
  ++report->level;
}

Status RunLevels(Pipeline& pipeline, CascadePolicy& policy, const RunTerms& terms,
                 RunResult* result, CascadeReport* report) {
  const Clock::time_point began = Clock::now();
  PassOutput output;
  for (;;) {
    report->began_us = MicrosecondsBetween(began, Clock::now());
    STI_RETURN_IF_ERROR(RunLevel(pipeline, policy, terms, &output, result));
    report->confidence = policy.ConfidenceIn(result->values);
    const RouteId next = CascadeRoute(pipeline.plan(), policy.level() + 1);
    const bool is_last = policy.level() + 1 == CascadeLevelsOf(pipeline.plan());
    report->returned = is_last ? Returned::kFinal : Returned::kEarly;
    if (!policy.GoesOn(report->confidence, !result->degraded.empty())) break;
    report->returned = Returned::kDeadline;
    if (terms.degrade_for_us && !pipeline.HasTimeFor(next, terms)) break;
    const bool prunes = policy.wants_attention();
    policy.GoOn(result->values, prunes ? output.attention : std::span<const float>());
    Leave(pipeline, result, report);
  }
  report->words_pruned = policy.words_pruned();
  report->together = policy.Together(result->values);
  return {};
}

}  // namespace

std::string_view NameOf(Returned returned) {
  switch (returned) {
    case Returned::kEarly:
      return "early";
    case Returned::kFinal:
      return "final";
    case Returned::kDeadline:
      break;
  }
  return "deadline";
}

uint64_t CascadeReport::BytesReadBefore() const {
  uint64_t bytes = 0;
  for (const CascadeLevelRun& one : before()) bytes += one.run.bytes_read;
  return bytes;
}

double CascadeReport::StallBeforeUs() const {
  double stall_us = 0;
  for (const CascadeLevelRun& one : before()) stall_us += one.run.stall_us;
  return stall_us;
}

Status RunCascade(Pipeline& pipeline, const CascadeInput& input, const RunTerms& terms,
                  uint64_t seed, RunResult* result, CascadeReport* report) {
  report->level = 1;
  RunTerms timed = terms;
  timed.taken = terms.taken.value_or(Clock::now());
  CascadePolicy policy(pipeline.plan(), input, seed);
  Status status = RunLevels(pipeline, policy, timed, result, report);
  pipeline.EndInput();
  return status;
}

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
