#include "plan/planning.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/aib.h"
#include "plan/cold.h"
#include "plan/text.h"
#include "types/importance_rank.h"
#include "types/limits.h"

namespace sti {
namespace {

constexpr size_t kMostPlans = 1 + kMaxVariants;

bool IsNumberAbove(double value, double least) { return std::isfinite(value) && value > least; }

Status ValidateRequest(const PlanRequest& request) {
  if (request.strategy == Strategy::kWhole || request.strategy == Strategy::kOther) {
    return UsageError(
        "nothing is planned by this strategy; use sti, sti-paper, load-exec, stdpl, preload or "
        "random");
  }
  if (!request.target_us && !request.submodel && !request.min_accuracy)
    return UsageError("neither a target nor a submodel is given; use --target or --submodel");
  if (request.target_us && !IsNumberAbove(*request.target_us, 0))
    return UsageError("the target is not a positive time; use --target 200ms");
  if (!(request.similar >= 0 && request.similar < 1))
    return UsageError("--similar is not from 0 to below 100%; use --similar 20%");
  const bool elastic = DelayModelFor(request.strategy) == DelayModel::kBudgets;
  if ((request.turns > 0 || request.wake_us > 0) && !elastic) {
    return UsageError(
        "--turns and --wake are for the strategies sti, sti-paper and random; drop them");
  }
  if (request.io_budget_bytes && !elastic)
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
  if (request.io_budget_bytes && request.uniform_bits)
    return UsageError("--io-budget raises single shards and --bits forbids it; drop one");
  return {};
}

/// A process that has just started holds no shards, and no turn came before.
Status ValidateCold(const PlanRequest& request) {
  if (!request.cold) return {};
  if (request.preload_bytes > 0 || request.turns > 0 || request.wake_us > 0) {
    return UsageError(
        "a cold start has nothing in memory: --cold goes without --preload, --turns and --wake; "
        "drop them");
  }
  if (DelayModelFor(request.strategy) == DelayModel::kMemory)
    return UsageError("the strategy preload begins with all shards in memory; drop --cold");
  return {};
}

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

Result<uint32_t> PlannedLength(const PlanInput& input, const PlanRequest& request) {
  const uint32_t longest = input.info.max_length();
  if (request.length == 0) {
    const uint32_t profiled = LongestProfiledLength(input.profile);
    return longest == 0 ? profiled : std::min(profiled, longest);
  }
  if (longest != 0 && request.length > longest) {
    return UsageError("length " + std::to_string(request.length) + " is more than the model's " +
                      std::to_string(longest) + " positions; ask for a shorter one");
  }
  return request.length;
}

namespace {

/// The same numbers on every machine: splitmix64, a counter run through a mixing function.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

std::vector<ShardId> AllShards(const PlanInput& input, const PlanRequest& request) {
  if (request.strategy != Strategy::kRandom && input.importance != nullptr)
    return ImportanceRank(*input.importance);
  std::vector<ShardId> shards;
  for (uint32_t layer = 0; layer < input.catalog.layers; ++layer) {
    for (uint32_t slice = 0; slice < input.catalog.width; ++slice) shards.push_back({layer, slice});
  }
  if (request.strategy == Strategy::kRandom) {
    SplitMix random(request.seed);
    for (size_t i = shards.size(); i > 1; --i) std::swap(shards[i - 1], shards[random.Next() % i]);
  }
  return shards;
}

}  // namespace

Result<Planning> Planning::Prepare(const PlanInput& input, const PlanRequest& request,
                                   const PlanningScope& scope, std::vector<std::string>* explain) {
  STI_RETURN_IF_ERROR(ValidateRequest(request));
  STI_RETURN_IF_ERROR(ValidateCold(request));
  STI_RETURN_IF_ERROR(ValidateCatalog(input.catalog));
  STI_RETURN_IF_ERROR(ValidateModel(input.info, input.catalog));
  STI_RETURN_IF_ERROR(ValidateProfile(input.profile));
  STI_RETURN_IF_ERROR(ValidateImportance(input));
  STI_RETURN_IF_ERROR(ValidateShape(input));
  STI_ASSIGN_OR_RETURN(DeviceModels devices,
                       DeviceModels::Make(input.profile, scope.length, request.judging.risk,
                                          {scope.clock, request.judging.interpolate}));
  if (request.cold) STI_RETURN_IF_ERROR(CheckColdIsKnown(input, devices.deciding()));
  STI_ASSIGN_OR_RETURN(ShardCosts costs, ShardCosts::Make(input.catalog, devices.deciding()));
  if (scope.host != nullptr)
    costs = costs.Holding(scope.host->preload, input.catalog.block_bytes, devices.deciding());
  STI_ASSIGN_OR_RETURN(std::vector<Submodel> submodels,
                       AllowedSubmodels(input.info, devices.deciding(), request));
  auto order = AllShards(input, request);
  ValueModel value(costs.bits(), order, input.catalog.layers, input.catalog.width, input.importance,
                   submodels);
  return Planning{input,
                  request,
                  scope,
                  std::move(devices),
                  std::move(costs),
                  std::move(submodels),
                  std::move(order),
                  std::move(value),
                  explain};
}

ComputeLane Planning::LaneOfSubmodel(const Submodel& submodel) const {
  return LaneOf(input, devices.deciding(), LayersOfDepth(input.info, submodel.depth),
                submodel.width, request.cold);
}

double Planning::ComputeTime(const Submodel& submodel) const {
  const DeviceModel& device = devices.deciding();
  const ComputeLane lane{device.fixed(), submodel.depth, device.LayerUs(submodel.width).value_or(0),
                         device.LastLayerUs(submodel.width).value_or(0)};
  return lane.compute_us();
}

std::vector<Submodel> Planning::ComputeFeasible() const {
  if (!request.target_us) return submodels;
  std::vector<Submodel> feasible;
  for (const Submodel& submodel : submodels) {
    if (ComputeTime(submodel) <= *request.target_us + kTimeTolerance_us)
      feasible.push_back(submodel);
  }
  return feasible;
}

Allocation Planning::AllocationOf(const Submodel& submodel, bool with_target) const {
  Budget budget;
  budget.lane = LaneOfSubmodel(submodel);
  budget.wake_us = request.wake_us;
  if (with_target) budget.target_us = request.target_us;
  budget.shard_bytes = ShardMemory(input, request, scope.length, submodel.width);
  if (scope.host == nullptr) {
    budget.preload_bytes = request.preload_bytes;
  } else if (budget.shard_bytes) {
    *budget.shard_bytes -= std::min(*budget.shard_bytes, scope.host->preload_bytes);
  }
  return {costs, LayersOfDepth(input.info, submodel.depth), submodel.width, budget,
          RangesOf(submodel)};
}

std::vector<LevelRange> Planning::RangesOf(const Submodel& submodel) const {
  if (scope.host == nullptr) return {};
  const std::vector<uint32_t> layers = LayersOfDepth(input.info, submodel.depth);
  std::vector<LevelRange> ranges(submodel.shards(), {0, costs.levels() - 1});
  for (const ShardAtBits& held : scope.host->preload) {
    const auto found = std::find(layers.begin(), layers.end(), held.id.layer);
    const std::optional<size_t> level = costs.LevelOf(held.bits);
    if (found == layers.end() || held.id.slice >= submodel.width || !level) continue;
    const auto k = static_cast<size_t>(found - layers.begin());
    ranges[k * submodel.width + held.id.slice] = {*level, *level};
  }
  return ranges;
}

double Planning::LossOf(const Allocation& allocation) const {
  const auto depth = static_cast<uint32_t>(allocation.layers().size());
  double sum = 0;
  double most = 0;
  for (size_t shard = 0; shard < allocation.shards(); ++shard) {
    const double weight = value.Weight(allocation.IdOf(shard));
    sum += weight * value.Lack(allocation.level(shard));
    most += weight;
  }
  return value.FullLoss(depth, allocation.width()) +
         value.Damage(depth, allocation.width()) * sum / most;
}

std::vector<size_t> Planning::ShardOrder(const Submodel& submodel) const {
  const std::vector<uint32_t> layers = LayersOfDepth(input.info, submodel.depth);
  std::vector<std::optional<size_t>> position(input.catalog.layers);
  for (size_t k = 0; k < layers.size(); ++k) position[layers[k]] = k;
  std::vector<size_t> shards;
  shards.reserve(submodel.shards());
  for (const auto& [layer, slice] : order) {
    if (position[layer] && slice < submodel.width)
      shards.push_back(*position[layer] * submodel.width + slice);
  }
  return shards;
}

bool Planning::IsHeld(ShardId id) const {
  if (scope.host == nullptr) return false;
  const auto& held = scope.host->preload;
  return std::any_of(held.begin(), held.end(),
                     [&](const ShardAtBits& shard) { return shard.id == id; });
}

Plan Planning::EmptyPlan() const {
  Plan plan;
  plan.model = input.model;
  plan.shape = input.shape;
  plan.strategy = request.strategy;
  plan.length = scope.length;
  plan.freq = scope.clock;
  plan.wake_us = request.wake_us;
  plan.cold = request.cold;
  plan.read_bytes = input.profile.read_bytes;
  plan.read_depth = input.profile.read_depth;
  plan.target_us = request.target_us;
  plan.kernel = input.profile.kernel;
  plan.read_path = input.profile.read_path;
  return plan;
}

Plan Planning::UniformPlan(const Submodel& submodel, uint32_t bits) const {
  Plan plan = EmptyPlan();
  plan.layers = LayersOfDepth(input.info, submodel.depth);
  plan.width = submodel.width;
  plan.slices = Grid<uint32_t>(submodel.depth, submodel.width);
  for (uint32_t k = 0; k < submodel.depth; ++k) {
    const std::span<uint32_t> row = plan.slices.Row(k);
    std::iota(row.begin(), row.end(), 0U);
  }
  plan.bits = Grid<uint32_t>(submodel.depth, submodel.width, bits);
  return plan;
}

Plan Planning::PlanOf(const Allocation& allocation) const {
  const auto depth = static_cast<uint32_t>(allocation.layers().size());
  Plan plan = UniformPlan({depth, allocation.width()}, costs.bits()[0]);
  for (size_t shard = 0; shard < allocation.shards(); ++shard) {
    const ShardId id = allocation.IdOf(shard);
    const uint32_t bits = costs.bits()[allocation.level(shard)];
    plan.bits.values()[shard] = bits;
    if (shard < allocation.preloaded() || IsHeld(id)) plan.preload.push_back({id, bits});
  }
  return plan;
}

}  // namespace sti
