#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/remedy.h"
#include "plan/search/search.h"
#include "plan/shard_room.h"
#include "plan/text.h"

namespace sti {
namespace {

/// A submodel that could be a fallback.
struct Option {
  Fallback fallback;
  double needs_us = 0;      ///< the least T that it computes in
  uint64_t more_bytes = 0;  ///< of its shards that no other fallback has
  double loss = 0;
};

class FallbackChoice {
 public:
  FallbackChoice(const PlanningContext& context, const std::set<ShardId>& taken)
      : context_(context), taken_(taken) {}

  /// Returns the best fallback that takes at most `most_bytes` more, or why there is none;
  /// `taken_bytes` are those of the others.
  [[nodiscard]] Result<Option> Best(uint64_t most_bytes, uint64_t taken_bytes) const {
    std::optional<Option> best;
    std::optional<Option> smallest;
    std::optional<Option> quickest;
    for (const Submodel& submodel : context_.submodels) {
      const Option option = OptionOf(submodel);
      if (!quickest || option.needs_us < quickest->needs_us) quickest = option;
      if (option.needs_us > *context_.terms.target_us + kTimeTolerance_us) continue;
      if (!smallest || option.more_bytes < smallest->more_bytes) smallest = option;
      if (option.more_bytes > most_bytes) continue;
      if (!best || IsBetter(option, *best)) best = option;
    }
    if (best) return *best;
    if (smallest) {
      return InfeasibleError("no fallback fits in a preload buffer of " +
                             std::to_string(context_.terms.preload_bytes) +
                             " bytes: the least that guarantees a label is " +
                             NameOfFallback(smallest->fallback))
          .Fix(Remedy::kRaiseInRequest,
               "preload_bytes to " + std::to_string(taken_bytes + smallest->more_bytes) + " bytes");
    }
    return InfeasibleError("no fallback computes within " + Ms(*context_.terms.target_us) +
                           ": the quickest, " + NameOfFallback(quickest->fallback) + ", takes " +
                           MsUp(quickest->needs_us) + " with the reading of its rows")
        .Fix(Remedy::kRaiseInRequest, "target_us");
  }

  static std::string NameOfFallback(const Fallback& fallback) {
    return NameOf(Submodel{static_cast<uint32_t>(fallback.layers.size()), fallback.width}) +
           " at " + std::to_string(fallback.bits) + " bits";
  }

 private:
  /// Less loss is better; of equals the one of fewer bytes.
  static bool IsBetter(const Option& a, const Option& b) {
    return a.loss != b.loss ? a.loss < b.loss : a.more_bytes < b.more_bytes;
  }

  [[nodiscard]] Option OptionOf(const Submodel& submodel) const {
    const DeviceModel& device = context_.devices.p99;
    Option option;
    Fallback& fallback = option.fallback;
    fallback.layers = LayersOfDepth(context_.input->info, submodel.depth);
    fallback.width = submodel.width;
    fallback.bits = context_.costs.bits()[0];
    fallback.embed_us = device.fixed().embed_us;
    const double decode_us = submodel.width * device.DecodeUs(fallback.bits);
    fallback.layer_us = device.LayerUs(submodel.width).value_or(0) + decode_us;
    fallback.last_layer_us = device.LastLayerUs(submodel.width).value_or(0) + decode_us;
    fallback.head_us = device.fixed().head_us;
    fallback.margin_us = WakingMarginUs(*context_.terms.target_us);
    const Plan plan = context_.UniformPlan(submodel, fallback.bits);
    fallback.quality = PredictQuality(context_.input, plan, plan.bits);
    option.needs_us = fallback.reserve_us() + device.fixed().embed_io_us;
    for (const ShardAtBits& shard : ShardsOf(fallback)) {
      if (!taken_.contains(shard.id)) option.more_bytes += context_.costs.bytes(shard.id, 0);
    }
    option.loss = context_.value.FullLoss(submodel.depth, submodel.width) +
                  context_.value.Damage(submodel.depth, submodel.width) * context_.value.Lack(0);
    return option;
  }

  const PlanningContext& context_;
  const std::set<ShardId>& taken_;
};

}  // namespace

Result<std::vector<PlanningScope>> ChooseFallbacks(const CheckedInput& input,
                                                   const PlanRequest& request,
                                                   uint64_t preload_bytes,
                                                   std::vector<PlanningScope> scopes,
                                                   std::vector<std::string>* explain) {
  // Whatever submodel and bits are asked for the plan itself.
  const PlanningTerms any{.target_us = request.target_us,
                          .preload_bytes = preload_bytes,
                          .submodel = std::nullopt,
                          .uniform_bits = std::nullopt,
                          .judging = request.judging};
  std::set<ShardId> taken;
  std::vector<ShardAtBits> shards;
  // One set of rows serves all: the first scope is that of the longest inputs.
  uint64_t taken_bytes = FallbackRowBytes(input->memory, scopes.front().length);
  for (PlanningScope& scope : scopes) {
    STI_ASSIGN_OR_RETURN(const PlanningContext context,
                         PlanningContext::Make(input, request, any, scope, nullptr));
    const FallbackChoice choice(context, taken);
    Result<Option> found = choice.Best(0, taken_bytes);
    const uint64_t left = preload_bytes - std::min(preload_bytes, taken_bytes);
    if (!found.ok()) found = choice.Best(left, taken_bytes);
    if (!found.ok()) return found.error();
    Option option = std::move(*found);
    for (const ShardAtBits& shard : ShardsOf(option.fallback)) {
      if (taken.insert(shard.id).second) shards.push_back(shard);
    }
    taken_bytes += option.more_bytes;
    if (explain != nullptr) {
      explain->push_back("fallback for " + std::to_string(scope.length) +
                         " tokens: " + FallbackChoice::NameOfFallback(option.fallback) + ", " +
                         std::to_string(option.more_bytes) + " bytes more in the buffer, " +
                         Ms(option.fallback.reserve_us()) + " reserved");
    }
    scope.fallback = std::move(option.fallback);
  }
  for (PlanningScope& scope : scopes) {
    scope.fallback_shards = shards;
    scope.fallback_bytes = taken_bytes;
  }
  return scopes;
}

}  // namespace sti
