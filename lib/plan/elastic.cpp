// The strategies with a bitwidth a shard: sti, sti-paper and random.
//
// sti-paper is STI 5.3 and 5.4 as printed: compute alone picks the submodel, then IO fills it.
// Where the flash is slow for the CPU, the largest submodel that computes in T cannot be loaded in
// T, or only at 2 bits, and a deeper, narrower one at 3 or 4 bits would be better. So sti keeps
// stage 1's choice only where IO lets it have 4 bits throughout, and else searches submodel, bits
// and preload together, by a value that stands in for accuracy.
#include <algorithm>
#include <array>
#include <cmath>

#include "plan/planning.h"
#include "plan/text.h"

namespace sti {
namespace {

/// From here on more bits hardly matter, and IO is said not to bind.
constexpr uint32_t kComfortableBits = 4;
/// Table 7 raises shards to these.
constexpr uint32_t kQuantizedMost = 6;

/// What a shard at `bits` is worth beside one at full fidelity. With value = n * sqrt(m) * mean,
/// it orders submodels as measured on the CLINC150 6x12 model.
double FidelityOf(uint32_t bits) {
  constexpr std::array<double, 7> kWorth = {0, 0.3, 0.65, 0.90, 0.96, 0.985, 0.995};
  return bits < kWorth.size() ? kWorth[bits] : 1.0;
}

/// The most that any bits could make of a submodel.
double SizeValue(const Submodel& submodel) {
  return submodel.depth * std::sqrt(static_cast<double>(submodel.width));
}

double MeanFidelity(const Allocation& allocation) {
  std::vector<size_t> count(allocation.costs().levels());
  for (size_t shard = 0; shard < allocation.shards(); ++shard) ++count[allocation.level(shard)];
  double sum = 0;
  for (size_t level = 0; level < count.size(); ++level)
    sum += static_cast<double>(count[level]) * FidelityOf(allocation.costs().bits()[level]);
  return sum / static_cast<double>(allocation.shards());
}

struct Choice {
  Submodel submodel;
  Allocation allocation;
  double value = 0;
};

/// Ties go to the deeper, then the wider (values of one submodel are never compared).
bool IsBetter(const Choice& a, const Choice& b) {
  if (std::abs(a.value - b.value) > 1e-9) return a.value > b.value;
  return a.submodel.depth != b.submodel.depth ? a.submodel.depth > b.submodel.depth
                                              : a.submodel.width > b.submodel.width;
}

class ElasticPlanner {
 public:
  explicit ElasticPlanner(const Planning& planning)
      : planning_(planning), request_(planning.request), costs_(planning.costs) {}

  Result<Plan> Run();

 private:
  std::optional<size_t> FirstPass(Allocation* allocation) const;
  void SecondPass(const Submodel& submodel, Allocation* allocation) const;
  [[nodiscard]] std::optional<Choice> JointChoice(const std::vector<Submodel>& feasible) const;
  [[nodiscard]] Result<Submodel> StageOne(const std::vector<Submodel>& feasible) const;
  [[nodiscard]] Result<Plan> Table7(const Submodel& submodel) const;
  [[nodiscard]] Result<Plan> Finish(const Submodel& submodel, Allocation allocation,
                                    size_t level) const;
  [[nodiscard]] Error Infeasible() const;
  void SayRaises(const Submodel& submodel, const Allocation& allocation, size_t level) const;
  void SayNext(const Submodel& submodel) const;

  const Planning& planning_;
  const PlanRequest& request_;
  const ShardCosts& costs_;
};

std::optional<size_t> ElasticPlanner::FirstPass(Allocation* allocation) const {
  if (!request_.uniform_bits) return SetHighestUniform(allocation);
  const size_t level = *costs_.LevelOf(*request_.uniform_bits);
  if (!allocation->SetUniform(level)) return std::nullopt;
  return level;
}

void ElasticPlanner::SecondPass(const Submodel& submodel, Allocation* allocation) const {
  if (request_.uniform_bits || !request_.target_us) return;
  const std::vector<size_t> order = planning_.ShardOrder(submodel);
  if (request_.strategy == "sti") {
    RaiseByLevel(allocation, order);
  } else {
    RaiseToHighest(allocation, order);
  }
}

std::optional<Choice> ElasticPlanner::JointChoice(const std::vector<Submodel>& feasible) const {
  std::vector<Submodel> by_size = feasible;
  std::stable_sort(by_size.begin(), by_size.end(), [](const Submodel& a, const Submodel& b) {
    return SizeValue(a) > SizeValue(b);
  });
  std::optional<Choice> best;
  for (const Submodel& submodel : by_size) {
    if (best && SizeValue(submodel) < best->value - 1e-9) break;
    Choice choice{submodel, planning_.AllocationOf(submodel)};
    const std::optional<size_t> level = FirstPass(&choice.allocation);
    if (!level) continue;
    SecondPass(submodel, &choice.allocation);
    choice.value = SizeValue(submodel) * MeanFidelity(choice.allocation);
    planning_.Say("joint choice: " + NameOf(submodel) + " holds " +
                  std::to_string(costs_.bits()[*level]) + " bits uniform, value " +
                  Fixed3(choice.value) + " after the second pass");
    if (!best || IsBetter(choice, *best)) best = std::move(choice);
  }
  return best;
}

Result<Submodel> ElasticPlanner::StageOne(const std::vector<Submodel>& feasible) const {
  if (feasible.empty()) return Infeasible();
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

void ElasticPlanner::SayRaises(const Submodel& submodel, const Allocation& allocation,
                               size_t level) const {
  if (planning_.explain == nullptr) return;
  for (size_t shard : planning_.ShardOrder(submodel)) {
    const size_t now = allocation.level(shard);
    if (now == level) continue;
    planning_.Say("second pass: layer " +
                  std::to_string(allocation.layers()[shard / allocation.width()]) + " slice " +
                  std::to_string(shard % allocation.width()) + " from " +
                  std::to_string(costs_.bits()[level]) + " to " +
                  std::to_string(costs_.bits()[now]) + " bits, " +
                  Ms(allocation.LoadAt(shard, now) - allocation.LoadAt(shard, level)) + " more IO");
  }
}

void ElasticPlanner::SayNext(const Submodel& submodel) const {
  if (planning_.explain == nullptr || !request_.target_us) return;
  const Submodel* next = nullptr;
  double next_us = 0;
  for (const Submodel& other : planning_.submodels) {
    if (other.shards() <= submodel.shards()) continue;
    const double target_us = planning_.AllocationOf(other).SmallestTarget();
    if (target_us <= *request_.target_us || (next != nullptr && target_us >= next_us)) continue;
    next = &other;
    next_us = target_us;
  }
  if (next != nullptr) {
    planning_.Say("next: " + NameOf(*next) + " becomes feasible at a target of " + MsUp(next_us) +
                  " with this preload");
  }
}

Result<Plan> ElasticPlanner::Finish(const Submodel& submodel, Allocation allocation,
                                    size_t level) const {
  SayRaises(submodel, allocation, level);
  SayNext(submodel);
  return planning_.PlanOf(allocation);
}

Error ElasticPlanner::Infeasible() const {
  std::optional<Choice> best;
  for (const Submodel& submodel : planning_.submodels) {
    Allocation allocation = planning_.AllocationOf(submodel, false);
    if (request_.uniform_bits) allocation.SetUniform(*costs_.LevelOf(*request_.uniform_bits));
    if (!allocation.FitsMemory()) continue;
    const double target_us = allocation.SmallestTarget();
    if (!best || target_us < best->value) best = Choice{submodel, std::move(allocation), target_us};
  }
  if (!best) {
    return InfeasibleError("no submodel fits in " + std::to_string(*request_.memory_bytes) +
                           " bytes of memory; raise --memory or lower --preload");
  }
  std::string message = request_.target_us ? "no plan meets " + Ms(*request_.target_us)
                                           : std::string("no plan meets the request");
  message += ": the smallest feasible target is " + MsUp(best->value) + ", with " +
             NameOf(best->submodel) + " at " +
             std::to_string(costs_.bits()[best->allocation.level(0)]) +
             " bits; raise --target or --preload";
  const bool only_full = !planning_.input.info.elastic && !request_.allow_untrained;
  if (only_full) message += ", or --allow-untrained for submodels this model was not trained for";
  return InfeasibleError(message);
}

Result<Plan> ElasticPlanner::Run() {
  if (request_.uniform_bits && !costs_.LevelOf(*request_.uniform_bits)) {
    return UsageError("the model or the profile has no " + std::to_string(*request_.uniform_bits) +
                      " bits; use --bits with a bitwidth that both have");
  }
  const std::vector<Submodel> feasible = planning_.ComputeFeasible();
  STI_ASSIGN_OR_RETURN(const Submodel stage_one, StageOne(feasible));
  if (request_.io_budget_bytes) return Table7(stage_one);

  Allocation allocation = planning_.AllocationOf(stage_one);
  std::optional<size_t> level = FirstPass(&allocation);
  const std::string name = NameOf(stage_one);
  planning_.Say(level ? "first pass: " + name + " holds " + std::to_string(costs_.bits()[*level]) +
                            " bits uniform"
                      : "first pass: " + name + " does not hold the fewest bits");
  const bool free_io =
      level && (request_.uniform_bits || *level >= costs_.LevelAtMost(kComfortableBits));
  const bool joint = request_.strategy == "sti" && request_.target_us && !free_io;
  if (joint && !(level && feasible.size() == 1)) {
    planning_.Say("IO binds: submodel and bits are chosen together");
    std::optional<Choice> best = JointChoice(feasible);
    if (!best) return Infeasible();
    planning_.Say("joint choice: " + NameOf(best->submodel) + " is taken");
    return Finish(best->submodel, std::move(best->allocation), 0);
  }
  if (!level) {
    // As printed: the shards are needed, so they come at the fewest bits and late.
    if (!request_.target_us || !allocation.FitsMemory()) return Infeasible();
    planning_.Say("target missed: all shards at the fewest bits, as the paper has it");
    return planning_.PlanOf(allocation);
  }
  SecondPass(stage_one, &allocation);
  return Finish(stage_one, std::move(allocation), *level);
}

}  // namespace

Result<Plan> PlanElastic(const Planning& planning) { return ElasticPlanner(planning).Run(); }

}  // namespace sti
