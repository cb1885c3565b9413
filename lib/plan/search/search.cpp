#include "plan/search/search.h"

#include <algorithm>

#include "base/remedy.h"
#include "plan/judge.h"
#include "plan/search/context.h"
#include "plan/search/joint.h"
#include "plan/text.h"
#include "types/bits.h"

namespace sti {
namespace {

/// From here on more bits hardly matter, and IO is said not to bind.
constexpr uint32_t kComfortableBits = 4;

class Search {
 public:
  explicit Search(const PlanningContext& context) : context_(context), costs_(context.costs) {}

  Result<Plan> Run();

 private:
  [[nodiscard]] std::optional<size_t> SetUniformBits(Allocation* allocation) const;
  [[nodiscard]] Result<Submodel> ChooseSubmodel(const std::vector<Submodel>& feasible) const;
  [[nodiscard]] Result<Plan> Table7(const Submodel& submodel) const;
  [[nodiscard]] Result<Plan> AsPrinted(const Submodel& submodel) const;
  [[nodiscard]] Result<Plan> Uniform(std::span<const Submodel> feasible) const;
  [[nodiscard]] Result<Plan> Jointly(const std::vector<Submodel>& feasible) const;
  [[nodiscard]] bool IoIsPlenty(const Submodel& submodel) const;
  [[nodiscard]] Plan Finish(const Submodel& submodel, const Allocation& allocation) const;
  void SayRaises(const Submodel& submodel, const Allocation& allocation) const;

  const PlanningContext& context_;
  const ShardCosts& costs_;
};

std::optional<size_t> Search::SetUniformBits(Allocation* allocation) const {
  const std::optional<size_t> level = SetHighestUniform(allocation);
  context_.Say("uniform bits: " + std::to_string(allocation->layers().size()) + "x" +
               std::to_string(allocation->width()) +
               (level ? " holds " + std::to_string(costs_.bits()[*level]) + " bits uniform"
                      : " does not hold the fewest bits"));
  return level;
}

Result<Submodel> Search::ChooseSubmodel(const std::vector<Submodel>& feasible) const {
  if (feasible.empty()) return Infeasible(context_);
  const Submodel best = LargestThenDeepest(feasible, context_.request.similar);
  if (context_.terms.target_us) {
    context_.Say("compute planning: " + std::to_string(feasible.size()) + " of " +
                 std::to_string(context_.submodels.size()) + " submodels compute within " +
                 Ms(*context_.terms.target_us) + "; " + NameOf(best) + " takes " +
                 Ms(context_.ComputeTime(best)) + ", slack " +
                 Ms(*context_.terms.target_us - context_.ComputeTime(best)));
  } else {
    context_.Say("compute planning: " + NameOf(best) + " as asked, no target");
  }
  return best;
}

Result<Plan> Search::Table7(const Submodel& submodel) const {
  Allocation allocation = context_.AllocationOf(submodel, false);
  const size_t highest = costs_.LevelAtMost(kMostBits);
  uint64_t left = *context_.request.io_budget_bytes;
  size_t raised = 0;
  for (size_t shard : context_.ShardOrder(submodel)) {
    const uint64_t extra = allocation.BytesAt(shard, highest) - allocation.BytesAt(shard, 0);
    if (extra > left) continue;
    left -= extra;
    allocation.Raise(shard, highest);
    ++raised;
  }
  context_.Say("IO budget: " + std::to_string(raised) + " of " +
               std::to_string(allocation.shards()) + " shards at " +
               std::to_string(costs_.bits()[highest]) + " bits, the rest at " +
               std::to_string(costs_.bits()[0]) + "; " + std::to_string(left) + " bytes unspent");
  if (!allocation.FitsMemory()) {
    const uint64_t needed = Evaluate(context_.input, context_.terms.judging, context_.devices,
                                     context_.PlanOf(allocation))
                                .peak_bytes;
    return InfeasibleError("the memory asked for cannot hold " + NameOf(submodel) +
                           " with this IO budget")
        .Fix(Remedy::kRaiseInRequest, "memory_bytes to " + std::to_string(needed) + " bytes");
  }
  return context_.PlanOf(allocation);
}

void Search::SayRaises(const Submodel& submodel, const Allocation& allocation) const {
  if (context_.explain == nullptr) return;
  size_t least = costs_.levels() - 1;
  for (size_t shard = 0; shard < allocation.shards(); ++shard)
    least = std::min(least, allocation.level(shard));
  for (size_t shard : context_.ShardOrder(submodel)) {
    const size_t now = allocation.level(shard);
    if (now == least) continue;
    context_.Say("single raise: " + NameOf(allocation.IdOf(shard)) + " from " +
                 std::to_string(costs_.bits()[least]) + " to " +
                 std::to_string(costs_.bits()[now]) + " bits, " +
                 Ms(allocation.LoadAt(shard, now) - allocation.LoadAt(shard, least)) + " more IO");
  }
}

Plan Search::Finish(const Submodel& submodel, const Allocation& allocation) const {
  SayRaises(submodel, allocation);
  if (context_.explain != nullptr && context_.terms.target_us)
    context_.Say(NextBetter(context_, submodel));
  return context_.PlanOf(allocation);
}

Result<Plan> Search::AsPrinted(const Submodel& submodel) const {
  Allocation allocation = context_.AllocationOf(submodel);
  if (!SetUniformBits(&allocation)) {
    // The shards are needed, so they come at the fewest bits and late.
    if (!context_.terms.target_us || !allocation.FitsMemory()) return Infeasible(context_);
    context_.Say("target missed: all shards at the fewest bits, as the paper has it");
    return context_.PlanOf(allocation);
  }
  if (context_.terms.target_us) RaiseToHighest(&allocation, context_.ShardOrder(submodel));
  return Finish(submodel, allocation);
}

/// All shards at the bits that the request names: the submodel that is worth most so.
Result<Plan> Search::Uniform(std::span<const Submodel> feasible) const {
  const size_t level = *costs_.LevelOf(*context_.terms.uniform_bits);
  std::optional<JointChoice> best;
  for (const Submodel& submodel : feasible) {
    Allocation allocation = context_.AllocationOf(submodel);
    const bool missed = context_.request.strategy != Strategy::kSti && context_.terms.target_us;
    if (!allocation.SetUniform(level) && !(missed && allocation.FitsMemory())) continue;
    const double loss = context_.LossOf(allocation);
    if (!best || loss <= best->loss) best = JointChoice{submodel, std::move(allocation), loss};
  }
  if (!best) return Infeasible(context_);
  context_.Say("uniform: " + NameOf(best->submodel) + " at " +
               std::to_string(*context_.terms.uniform_bits) + " bits");
  return Finish(best->submodel, best->allocation);
}

bool Search::IoIsPlenty(const Submodel& submodel) const {
  Allocation allocation = context_.AllocationOf(submodel);
  const std::optional<size_t> level = SetUniformBits(&allocation);
  return level && *level >= costs_.LevelAtMost(kComfortableBits);
}

Result<Plan> Search::Jointly(const std::vector<Submodel>& feasible) const {
  context_.Say(context_.value.measured()
                   ? "value: A(n, m) of the importance file"
                   : "value: depth x root of width stands in for A(n, m), which was not measured");
  const std::optional<JointChoice> best = ChooseJointly(context_, feasible);
  if (!best) return Infeasible(context_);
  return Finish(best->submodel, best->allocation);
}

Result<Plan> Search::Run() {
  if (context_.terms.uniform_bits && !costs_.LevelOf(*context_.terms.uniform_bits)) {
    return UsageError("the model or the profile has no " +
                      std::to_string(*context_.terms.uniform_bits) + " bits")
        .Fix(Remedy::kGiveInRequest, "uniform_bits with a bitwidth that both have");
  }
  const std::vector<Submodel> feasible = context_.ComputeFeasible();
  STI_ASSIGN_OR_RETURN(const Submodel chosen, ChooseSubmodel(feasible));
  if (context_.request.io_budget_bytes) return Table7(chosen);
  if (context_.request.strategy != Strategy::kSti) {
    if (context_.terms.uniform_bits) return Uniform(std::span(&chosen, 1));
    return AsPrinted(chosen);
  }
  if (context_.terms.uniform_bits) {
    const Result<Plan> first = Uniform(std::span(&chosen, 1));
    return first.ok() ? first : Uniform(feasible);
  }
  if (!context_.terms.target_us) {
    Allocation allocation = context_.AllocationOf(chosen);
    if (!SetUniformBits(&allocation)) return Infeasible(context_);
    return Finish(chosen, allocation);
  }
  if (!context_.value.measured() && IoIsPlenty(chosen)) {
    // Where its fewest bits are too slow to compute the search may find none of its bits.
    Result<Plan> its_own = Jointly({chosen});
    if (its_own.ok()) return its_own;
  }
  return Jointly(feasible);
}

}  // namespace

Result<Plan> SearchPlan(const PlanningContext& context) { return Search(context).Run(); }

}  // namespace sti
