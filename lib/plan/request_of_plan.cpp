#include "plan/request_of_plan.h"

#include <algorithm>
#include <functional>
#include <set>

#include "base/remedy.h"

namespace sti {
namespace {

Status CheckCanBeReplaced(const Plan& plan) {
  std::string why;
  if (!plan.target_us) why = "has no target";
  if (plan.cold) why = "is of a cold start, which happens once";
  const bool adjusts = plan.strategy == Strategy::kSti || plan.strategy == Strategy::kStiPaper ||
                       (plan.strategy == Strategy::kTabi && plan.cascade);
  if (!adjusts) why = "is of the strategy " + plan.strategy_name() + ", which adjusts to no device";
  if (why.empty()) return {};
  return UsageError("the plan " + why + ": none can be made in its place").Fix(Remedy::kPlanAgain);
}

}  // namespace

Result<PlanRequest> RequestOf(const Plan& plan, const ModelInfo& info) {
  STI_RETURN_IF_ERROR(CheckCanBeReplaced(plan));
  PlanRequest request;
  request.strategy = plan.strategy;
  request.target_us = plan.target_us;
  request.guarantee = plan.fallback.has_value();
  request.preload_bytes = plan.preload_bytes + (plan.fallback ? plan.fallback->bytes : 0);
  if (plan.cascade) {
    request.cascade.emplace();
    request.preload_bytes =
        std::max(request.preload_bytes, plan.cascade->levels.front().plan.preload_bytes);
  }
  request.length = plan.length;
  request.wake_us = plan.wake_us;
  request.turns = static_cast<uint32_t>(plan.turns.size());
  if (!plan.turns.empty()) request.turn_bytes = plan.turn_bytes.value_or(0);
  const double p99_us = plan.cascade ? plan.cascade->worst_path_us : plan.predicted_p99_us;
  if (p99_us > *plan.target_us) request.judging.risk = Risk::kMedian;
  request.allow_untrained = !info.WasTrained(SubmodelOf(plan));
  std::set<uint32_t> lengths{plan.length};
  std::set<uint64_t, std::greater<>> clocks{plan.freq.value_or(0)};
  for (const Plan& variant : plan.variants) {
    lengths.insert(variant.length);
    clocks.insert(variant.freq.value_or(0));
    request.allow_untrained = request.allow_untrained || !info.WasTrained(SubmodelOf(variant));
  }
  if (plan.cascade) {
    for (const CascadeLevel& level : plan.cascade->levels)
      request.allow_untrained = request.allow_untrained || !info.WasTrained(SubmodelOf(level.plan));
  }
  if (lengths.size() > 1) request.further_lengths.assign(lengths.begin(), lengths.end());
  // A plan that names no clock counts on the highest.
  if (!clocks.contains(0)) request.clocks.assign(clocks.begin(), clocks.end());
  return request;
}

}  // namespace sti
