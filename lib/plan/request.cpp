#include "plan/request.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "plan/device_model.h"
#include "plan/play/shard_costs.h"
#include "plan/search/submodels.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr size_t kMostPlans = 1 + kMaxVariants;

Status ValidateImportance(const PlanInput& input) {
  if (input.importance == nullptr) return {};
  const Importance& importance = *input.importance;
  if (!importance.model.empty() && !input.model.empty() && importance.model != input.model) {
    return DataError("importance: it was made for model " + importance.model.Prefix() + ", not " +
                     input.model.Prefix() + "; run sti-importance on this model");
  }
  const size_t shards = size_t{input.catalog.layers} * input.catalog.width;
  const bool finite = std::all_of(importance.scores.begin(), importance.scores.end(),
                                  [](double score) { return std::isfinite(score); });
  if (importance.layers != input.catalog.layers || importance.width != input.catalog.width ||
      importance.scores.size() != shards || !finite) {
    return DataError(
        "importance: it does not hold one score a shard of this model; "
        "run sti-importance on this model");
  }
  return {};
}

Status ValidateShape(const PlanInput& input) {
  if (input.profile.shape.empty() || input.shape.empty() || input.profile.shape == input.shape)
    return {};
  return DataError("profile: it was made for model shape " + input.profile.shape.Prefix() +
                   ", not " + input.shape.Prefix() + "; run sti-profile on this model");
}

}  // namespace

Status ValidateRequest(const PlanRequest& request) {
  if (request.strategy == Strategy::kWhole || request.strategy == Strategy::kOther) {
    return UsageError(
        "nothing is planned by this strategy; use sti, sti-paper, load-exec, stdpl, preload or "
        "random");
  }
  if (!request.target_us && !request.submodel && !request.min_accuracy)
    return UsageError("neither a target nor a submodel is given; use --target or --submodel");
  if (request.target_us && !(std::isfinite(*request.target_us) && *request.target_us > 0))
    return UsageError("the target is not a positive time; use --target 200ms");
  if (!(request.similar >= 0 && request.similar < 1))
    return UsageError("--similar is not from 0 to below 100%; use --similar 20%");
  const bool budgets = DelayModelFor(request.strategy) == DelayModel::kBudgets;
  if ((request.turns > 0 || request.wake_us > 0) && !budgets) {
    return UsageError(
        "--turns and --wake are for the strategies sti, sti-paper and random; drop them");
  }
  if (request.io_budget_bytes && !budgets)
    return UsageError("--io-budget is for the strategies sti, sti-paper and random; drop it");
  if (!(request.wake_us >= 0) || !std::isfinite(request.wake_us))
    return UsageError("the lead time is not a time; use --wake 50ms");
  if (request.turns > kMaxTurns)
    return UsageError("more than " + std::to_string(kMaxTurns) + " turns; lower --turns");
  if (request.turn_bytes && *request.turn_bytes < request.preload_bytes)
    return UsageError("the buffer between turns is smaller than the preload buffer; raise it");
  const size_t plans =
      (request.further_lengths.size() + 1) * std::max<size_t>(1, request.clocks.size());
  if (plans > kMostPlans)
    return UsageError("more than " + std::to_string(kMostPlans) + " lengths and clocks; drop some");
  if (plans > 1 && DelayModelFor(request.strategy) == DelayModel::kMemory)
    return UsageError("the strategy preload holds one plan's shards; ask for one length and clock");
  if (request.min_accuracy && !(*request.min_accuracy >= 0 && *request.min_accuracy <= 1))
    return UsageError("the accuracy is not from 0 to 1; use --min-accuracy 0.9");
  if (request.min_accuracy && request.strategy != Strategy::kSti)
    return UsageError("--min-accuracy is for the strategy sti; drop one of the two");
  if (request.io_budget_bytes && request.uniform_bits)
    return UsageError("--io-budget raises single shards and --bits forbids it; drop one");
  // A process that has just started holds no shards, and no turn came before.
  if (request.cold && (request.preload_bytes > 0 || request.turns > 0 || request.wake_us > 0)) {
    return UsageError(
        "a cold start has nothing in memory: --cold goes without --preload, --turns and --wake; "
        "drop them");
  }
  if (request.cold && DelayModelFor(request.strategy) == DelayModel::kMemory)
    return UsageError("the strategy preload begins with all shards in memory; drop --cold");
  return {};
}

Result<CheckedInput> CheckedInput::Make(const PlanInput& input) {
  STI_RETURN_IF_ERROR(ValidateCatalog(input.catalog));
  STI_RETURN_IF_ERROR(ValidateModel(input.info, input.catalog));
  STI_RETURN_IF_ERROR(ValidateProfile(input.profile));
  STI_RETURN_IF_ERROR(ValidateImportance(input));
  STI_RETURN_IF_ERROR(ValidateShape(input));
  return CheckedInput(input);
}

}  // namespace sti
