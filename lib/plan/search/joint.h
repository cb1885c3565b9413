// Strategy sti: submodel, bits and preload chosen together (docs/guide/planning.md, "The search").
// Internal to lib/plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/search/context.h"

namespace sti {

struct JointChoice {
  Submodel submodel;
  Allocation allocation;
  double loss = 0;
};

/// Returns the choice of least loss over `candidates`, all compute-feasible; nothing if the fewest
/// bits of none fit. Submodels are taken by what they could reach at best, and the search ends
/// where that is no better than what was found.
std::optional<JointChoice> ChooseJointly(const PlanningContext& context,
                                         std::span<const Submodel> candidates);

/// Returns the bits of one submodel with all but the least loss, nothing left over that one shard
/// could use; nothing if its fewest bits do not fit.
std::optional<Allocation> BestBits(const PlanningContext& context, const Submodel& submodel);

/// One shard's step to more bits on the way to full fidelity.
struct Step {
  ShardId id;
  size_t level = 0;    ///< after it
  double load_us = 0;  ///< IO time that the step adds
  double gain = 0;     ///< w(shard) times the fall of d
};

/// Steps along each shard's lower convex hull of lack over IO time, most gain a microsecond first.
std::vector<Step> StepsByDensity(const PlanningContext& context);

/// Tables are [shards][levels], shards in layer order, `width` of them a layer.
struct BitProblem {
  size_t width = 0;
  size_t levels = 0;
  std::vector<double> loss;         ///< what a level costs in quality, >= 0
  std::vector<double> load_us;      ///< IO time if streamed
  std::vector<uint64_t> bytes;      ///< room if preloaded
  std::vector<double> capacity_us;  ///< [layers] IO time there is until each layer must start
  uint64_t preload_bytes = 0;       ///< S
  std::vector<size_t> floor;        ///< [shards] lowest level allowed
  std::vector<size_t> ceiling;      ///< [shards] highest level allowed

  [[nodiscard]] size_t shards() const { return floor.size(); }
  [[nodiscard]] size_t At(size_t shard, size_t level) const { return shard * levels + level; }
};

struct BitChoice {
  std::vector<size_t> levels;  ///< [shards]
  size_t preloaded = 0;        ///< shards in the prefix
  double loss = 0;             ///< sum over shards
};

/// Returns the levels of least loss; nothing if no levels keep within S and every capacity. Takes
/// shards * levels * states steps and shards * states * 24 bytes, twice.
std::optional<BitChoice> ChooseBits(const BitProblem& problem, size_t states);

}  // namespace sti
