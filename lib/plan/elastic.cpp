// The strategies with a bitwidth a shard: sti, sti-paper and random.
//
// sti-paper is STI 5.3 and 5.4 as printed: compute alone picks the submodel, then IO fills it.
// Where the flash is slow for the CPU, the largest submodel that computes in T cannot be loaded in
// T, or only at 2 bits, and a deeper, narrower one at 3 or 4 bits would be better. So sti searches
// submodel, bits and preload together wherever it knows what submodels are worth, or IO binds;
// where it knows nothing and IO is plenty, stage 1's choice is as good as any.
#include <algorithm>

#include "plan/joint.h"
#include "plan/planning.h"
#include "plan/prices.h"
#include "plan/text.h"

namespace sti {
namespace {

/// From here on more bits hardly matter, and IO is said not to bind.
constexpr uint32_t kComfortableBits = 4;
/// Table 7 raises shards to these.
constexpr uint32_t kQuantizedMost = 6;

class ElasticPlanner {
 public:
  explicit ElasticPlanner(const Planning& planning)
      : planning_(planning), request_(planning.request), costs_(planning.costs) {}

  Result<Plan> Run();

 private:
  [[nodiscard]] std::optional<size_t> FirstPass(Allocation* allocation) const;
  [[nodiscard]] Result<Submodel> StageOne(const std::vector<Submodel>& feasible) const;
  [[nodiscard]] Result<Plan> Table7(const Submodel& submodel) const;
  [[nodiscard]] Result<Plan> AsPrinted(const Submodel& submodel) const;
  [[nodiscard]] Result<Plan> Uniform(std::span<const Submodel> feasible) const;
  [[nodiscard]] Result<Plan> Jointly(const std::vector<Submodel>& feasible) const;
  [[nodiscard]] bool IoIsPlenty(const Submodel& submodel) const;
  [[nodiscard]] Plan Finish(const Submodel& submodel, const Allocation& allocation) const;
  void SayRaises(const Submodel& submodel, const Allocation& allocation) const;

  const Planning& planning_;
  const PlanRequest& request_;
  const ShardCosts& costs_;
};

std::optional<size_t> ElasticPlanner::FirstPass(Allocation* allocation) const {
  const std::optional<size_t> level = SetHighestUniform(allocation);
  planning_.Say("first pass: " + std::to_string(allocation->layers().size()) + "x" +
                std::to_string(allocation->width()) +
                (level ? " holds " + std::to_string(costs_.bits()[*level]) + " bits uniform"
                       : " does not hold the fewest bits"));
  return level;
}

Result<Submodel> ElasticPlanner::StageOne(const std::vector<Submodel>& feasible) const {
  if (feasible.empty()) return Infeasible(planning_);
  const Submodel best = LargestThenDeepest(feasible, request_.similar);
  if (request_.target_us) {
    planning_.Say("stage 1: " + std::to_string(feasible.size()) + " of " +
                  std::to_string(planning_.submodels.size()) + " submodels compute within " +
                  Ms(*request_.target_us) + "; " + NameOf(best) + " takes " +
                  Ms(planning_.ComputeTime(best)) + ", slack " +
                  Ms(*request_.target_us - planning_.ComputeTime(best)));
  } else {
    planning_.Say("stage 1: " + NameOf(best) + " as asked, no target");
  }
  return best;
}

Result<Plan> ElasticPlanner::Table7(const Submodel& submodel) const {
  Allocation allocation = planning_.AllocationOf(submodel, false);
  const size_t highest = costs_.LevelAtMost(kQuantizedMost);
  uint64_t left = *request_.io_budget_bytes;
  size_t raised = 0;
  for (size_t shard : planning_.ShardOrder(submodel)) {
    const uint64_t extra = allocation.BytesAt(shard, highest) - allocation.BytesAt(shard, 0);
    if (extra > left) continue;
    left -= extra;
    allocation.Raise(shard, highest);
    ++raised;
  }
  planning_.Say("IO budget: " + std::to_string(raised) + " of " +
                std::to_string(allocation.shards()) + " shards at " +
                std::to_string(costs_.bits()[highest]) + " bits, the rest at " +
                std::to_string(costs_.bits()[0]) + "; " + std::to_string(left) + " bytes unspent");
  if (!allocation.FitsMemory()) {
    return InfeasibleError("the memory asked for cannot hold " + NameOf(submodel) +
                           " with this IO budget; raise --memory or lower --preload");
  }
  return planning_.PlanOf(allocation);
}

void ElasticPlanner::SayRaises(const Submodel& submodel, const Allocation& allocation) const {
  if (planning_.explain == nullptr) return;
  size_t least = costs_.levels() - 1;
  for (size_t shard = 0; shard < allocation.shards(); ++shard)
    least = std::min(least, allocation.level(shard));
  for (size_t shard : planning_.ShardOrder(submodel)) {
    const size_t now = allocation.level(shard);
    if (now == least) continue;
    planning_.Say("second pass: " + NameOf(allocation.IdOf(shard)) + " from " +
                  std::to_string(costs_.bits()[least]) + " to " +
                  std::to_string(costs_.bits()[now]) + " bits, " +
                  Ms(allocation.LoadAt(shard, now) - allocation.LoadAt(shard, least)) + " more IO");
  }
}

Plan ElasticPlanner::Finish(const Submodel& submodel, const Allocation& allocation) const {
  SayRaises(submodel, allocation);
  if (planning_.explain != nullptr && request_.target_us)
    planning_.Say(NextBetter(planning_, submodel));
  return planning_.PlanOf(allocation);
}

Result<Plan> ElasticPlanner::AsPrinted(const Submodel& submodel) const {
  Allocation allocation = planning_.AllocationOf(submodel);
  if (!FirstPass(&allocation)) {
    // The shards are needed, so they come at the fewest bits and late.
    if (!request_.target_us || !allocation.FitsMemory()) return Infeasible(planning_);
    planning_.Say("target missed: all shards at the fewest bits, as the paper has it");
    return planning_.PlanOf(allocation);
  }
  if (request_.target_us) RaiseToHighest(&allocation, planning_.ShardOrder(submodel));
  return Finish(submodel, allocation);
}

/// All shards at the bits that the request names: the submodel that is worth most so.
Result<Plan> ElasticPlanner::Uniform(std::span<const Submodel> feasible) const {
  const size_t level = *costs_.LevelOf(*request_.uniform_bits);
  std::optional<JointChoice> best;
  for (const Submodel& submodel : feasible) {
    Allocation allocation = planning_.AllocationOf(submodel);
    const bool missed = request_.strategy != Strategy::kSti && request_.target_us;
    if (!allocation.SetUniform(level) && !(missed && allocation.FitsMemory())) continue;
    const double loss = planning_.LossOf(allocation);
    if (!best || loss <= best->loss) best = JointChoice{submodel, std::move(allocation), loss};
  }
  if (!best) return Infeasible(planning_);
  planning_.Say("uniform: " + NameOf(best->submodel) + " at " +
                std::to_string(*request_.uniform_bits) + " bits");
  return Finish(best->submodel, best->allocation);
}

bool ElasticPlanner::IoIsPlenty(const Submodel& submodel) const {
  Allocation allocation = planning_.AllocationOf(submodel);
  const std::optional<size_t> level = FirstPass(&allocation);
  return level && *level >= costs_.LevelAtMost(kComfortableBits);
}

Result<Plan> ElasticPlanner::Jointly(const std::vector<Submodel>& feasible) const {
  planning_.Say(planning_.value.measured()
                    ? "value: A(n, m) of the importance file"
                    : "value: depth x root of width stands in for A(n, m), which was not measured");
  const std::optional<JointChoice> best = ChooseJointly(planning_, feasible);
  if (!best) return Infeasible(planning_);
  return Finish(best->submodel, best->allocation);
}

Result<Plan> ElasticPlanner::Run() {
  if (request_.uniform_bits && !costs_.LevelOf(*request_.uniform_bits)) {
    return UsageError("the model or the profile has no " + std::to_string(*request_.uniform_bits) +
                      " bits; use --bits with a bitwidth that both have");
  }
  const std::vector<Submodel> feasible = planning_.ComputeFeasible();
  STI_ASSIGN_OR_RETURN(const Submodel stage_one, StageOne(feasible));
  if (request_.io_budget_bytes) return Table7(stage_one);
  if (request_.strategy != Strategy::kSti) {
    if (request_.uniform_bits) return Uniform(std::span(&stage_one, 1));
    return AsPrinted(stage_one);
  }
  if (request_.uniform_bits) {
    const Result<Plan> first = Uniform(std::span(&stage_one, 1));
    return first.ok() ? first : Uniform(feasible);
  }
  if (!request_.target_us) {
    Allocation allocation = planning_.AllocationOf(stage_one);
    if (!FirstPass(&allocation)) return Infeasible(planning_);
    return Finish(stage_one, allocation);
  }
  if (!planning_.value.measured() && IoIsPlenty(stage_one)) return Jointly({stage_one});
  return Jointly(feasible);
}

}  // namespace

Result<Plan> PlanElastic(const Planning& planning) { return ElasticPlanner(planning).Run(); }

}  // namespace sti
