#include "pipeline/plan_fit.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace sti {
namespace {

using ShardBits = std::map<ShardId, uint32_t>;

Error Misfit(const std::string& file, const std::string& what) {
  return DataError("the plan does not fit " + file + ": " + what + "; run sti-plan on this model");
}

Status CheckSizes(const ContainerIndex& index, const Plan& plan, const std::string& file) {
  const ModelShape& shape = index.info.shape;
  const std::vector<uint32_t>& layers = plan.layers;
  const bool ascending =
      std::adjacent_find(layers.begin(), layers.end(), std::greater_equal<>()) == layers.end();
  if (layers.empty() || !ascending || layers.back() >= shape.layers)
    return Misfit(file, "its layers");
  if (plan.width < 1 || plan.width > shape.width) return Misfit(file, "its width");
  if (plan.length < 2 || plan.length > index.info.max_length()) return Misfit(file, "its length");
  for (const Grid<uint32_t>* grid : {&plan.slices, &plan.bits}) {
    if (grid->rows() != layers.size() || grid->columns() != plan.width)
      return Misfit(file, "its rows");
  }
  return {};
}

/// Every shard is held at its bits, and there once; fills `shards` with them.
Status CheckShards(const ContainerIndex& index, const Plan& plan, const std::string& file,
                   ShardBits* shards) {
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardId id = plan.Id(k, i);
      const uint32_t bits = plan.bits.At(k, i);
      if (id.slice >= index.info.shape.width) return Misfit(file, "a slice beyond its width");
      if (!shards->emplace(id, bits).second) return Misfit(file, "a slice twice in one layer");
      if (!index.Holds(id.layer, id.slice, bits)) {
        return Misfit(file, "it wants " + std::to_string(bits) + " bits of " + NameOf(id) +
                                ", which the file does not have");
      }
    }
  }
  return {};
}

/// Each preload entry is one of `shards` at its bits, once.
Status CheckPreload(const Plan& plan, const ShardBits& shards, const char* problem) {
  std::set<ShardId> seen;
  for (const ShardAtBits& shard : plan.preload) {
    const auto found = shards.find(shard.id);
    if (found == shards.end() || found->second != shard.bits || !seen.insert(found->first).second)
      return DataError(std::string(problem) + "; run sti-plan again");
  }
  return {};
}

/// A turn runs the plan's shards, at bits that the file has, and holds no more of one than it runs.
Status CheckTurn(const ContainerIndex& index, const Plan& plan, const PlanTurn& turn,
                 const std::string& file) {
  Plan as_plan = plan;
  as_plan.bits = turn.bits;
  STI_RETURN_IF_ERROR(CheckSizes(index, as_plan, file));
  ShardBits shards;
  STI_RETURN_IF_ERROR(CheckShards(index, as_plan, file, &shards));
  std::set<ShardId> seen;
  for (const ShardAtBits& shard : turn.preload) {
    const auto found = shards.find(shard.id);
    const bool sound = found != shards.end() && shard.bits <= found->second &&
                       index.Holds(shard.id.layer, shard.id.slice, shard.bits) &&
                       seen.insert(found->first).second;
    if (!sound) {
      return DataError(
          "a turn of the plan begins with a shard that it does not run; run sti-plan "
          "again");
    }
  }
  return {};
}

Status CheckOne(const ContainerIndex& index, const Plan& plan, const std::string& file) {
  if (!(plan.model == index.model)) {
    return DataError("the plan was made for model " + plan.model.Prefix() + ", not " +
                     index.model.Prefix() + " of " + file + "; run sti-plan on this model");
  }
  STI_RETURN_IF_ERROR(CheckSizes(index, plan, file));
  ShardBits shards;
  STI_RETURN_IF_ERROR(CheckShards(index, plan, file, &shards));
  return CheckPreload(plan, shards, "the plan preloads a shard that it does not run");
}

}  // namespace

Status CheckPlanFits(const ContainerIndex& index, const Plan& plan, const std::string& file) {
  STI_RETURN_IF_ERROR(CheckOne(index, plan, file));
  for (const PlanTurn& turn : plan.turns) STI_RETURN_IF_ERROR(CheckTurn(index, plan, turn, file));
  ShardBits preloaded;
  for (const ShardAtBits& shard : plan.preload) preloaded.emplace(shard.id, shard.bits);
  for (const Plan& variant : plan.variants) {
    STI_RETURN_IF_ERROR(CheckOne(index, variant, file));
    STI_RETURN_IF_ERROR(CheckPreload(variant, preloaded,
                                     "a variant preloads a shard that the plan does not preload"));
  }
  return {};
}

Status CheckPlanComputes(const Plan& plan, ComputeType type) {
  const std::optional<ComputeType> counted = plan.kernel.type;
  if (!counted || *counted == type) return {};
  const std::string wanted(NameOf(*counted));
  return UsageError("the plan counts on " + wanted + " products, not " + std::string(NameOf(type)) +
                    ": run it with --compute " + wanted +
                    ", or plan with a profile made with --compute " + std::string(NameOf(type)));
}

}  // namespace sti
