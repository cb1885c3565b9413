#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "plan/judge.h"
#include "plan/search/joint.h"
#include "plan/search/search.h"
#include "types/fields.h"

namespace sti {
namespace {

/// Follows the shards of one plan from turn to turn.
class TurnPlanner {
 public:
  TurnPlanner(const PlanningContext& context, const Plan& plan)
      : context_(context),
        plan_(plan),
        turn_bytes_(context.request.turns()->bytes.value_or(context.terms.preload_bytes)),
        submodel_(SubmodelOf(plan)) {
    for (uint32_t bits : plan.bits.values()) levels_.push_back(*context.costs.LevelOf(bits));
  }

  [[nodiscard]] uint64_t turn_bytes() const { return turn_bytes_; }

  [[nodiscard]] PlanTurn First() const {
    PlanTurn turn;
    turn.bits = plan_.bits;
    turn.preload = plan_.preload;
    turn.preload_bytes = plan_.preload_bytes;
    turn.read_bytes = plan_.parameter_bytes - plan_.preload_bytes;
    turn.aib_us = plan_.aib_us;
    turn.predicted_latency_us = plan_.predicted_latency_us;
    turn.predicted_p99_us = plan_.predicted_p99_us;
    turn.quality = plan_.quality;
    return turn;
  }

  /// Returns the turn after one that read `read_bytes`.
  [[nodiscard]] PlanTurn Next(uint64_t read_bytes) {
    PlanTurn turn;
    turn.preload = Kept(&turn.preload_bytes);
    const ShardCosts costs = context_.costs.Holding(
        turn.preload, context_.input->catalog.block_bytes, context_.devices.deciding());
    Raise(costs, read_bytes);
    turn.bits = Bits();
    FillFigures(Evaluate(context_.input, context_.terms.judging, context_.devices, plan_, &turn),
                &turn);
    return turn;
  }

 private:
  /// Returns an allocation with a preload buffer of its own, this turn's levels as the floor.
  [[nodiscard]] Allocation AllocationWith(const ShardCosts& costs, uint64_t preload_bytes) const {
    Budget budget = context_.AllocationOf(submodel_).budget();
    budget.preload_bytes = preload_bytes;
    budget.target_us = plan_.target_us;
    std::vector<LevelRange> ranges;
    ranges.reserve(levels_.size());
    for (size_t level : levels_) ranges.push_back({level, costs.levels() - 1});
    return {costs, plan_.layers, plan_.width, budget, std::move(ranges)};
  }

  /// Returns the prefix that stays in memory, as its last turn had it.
  [[nodiscard]] std::vector<ShardAtBits> Kept(uint64_t* bytes) const {
    const Allocation allocation = AllocationWith(context_.costs, turn_bytes_);
    *bytes = allocation.preloaded_bytes();
    std::vector<ShardAtBits> kept;
    kept.reserve(allocation.preloaded());
    for (size_t shard = 0; shard < allocation.preloaded(); ++shard) {
      kept.push_back({allocation.IdOf(shard), context_.costs.bits()[levels_[shard]]});
    }
    return kept;
  }

  /// Raises shards while this turn can load the planes and later ones could live with it.
  void Raise(const ShardCosts& costs, uint64_t read_bytes_before) {
    if (!plan_.target_us) return;
    Allocation now = AllocationWith(costs, 0);
    Allocation later = AllocationWith(context_.costs, turn_bytes_);
    if (!now.Fits() || !later.Fits()) return;
    std::vector<size_t> position(context_.input->catalog.layers, plan_.layers.size());
    for (size_t k = 0; k < plan_.layers.size(); ++k) position[plan_.layers[k]] = k;
    uint64_t read_bytes = ReadBytes(now);
    for (const Step& step : StepsByDensity(context_)) {
      if (position[step.id.layer] == plan_.layers.size() || step.id.slice >= plan_.width) continue;
      const size_t shard = position[step.id.layer] * plan_.width + step.id.slice;
      if (step.level <= levels_[shard]) continue;
      const uint64_t more = costs.bytes(step.id, step.level) - costs.bytes(step.id, levels_[shard]);
      if (read_bytes + more >= read_bytes_before) continue;
      Allocation later_raised = later;
      if (!later_raised.TryRaise(shard, step.level)) continue;
      // Larger shards push others out of the buffer; these must not come back as more bytes.
      if (later_raised.streamed_bytes() > read_bytes + more) continue;
      if (!now.TryRaise(shard, step.level)) continue;
      later = std::move(later_raised);
      levels_[shard] = step.level;
      read_bytes += more;
    }
  }

  /// Returns the bytes of all shards at this turn's levels, as `allocation` counts them.
  [[nodiscard]] uint64_t ReadBytes(const Allocation& allocation) const {
    uint64_t bytes = 0;
    for (size_t shard = 0; shard < levels_.size(); ++shard)
      bytes += allocation.BytesAt(shard, levels_[shard]);
    return bytes;
  }

  [[nodiscard]] Grid<uint32_t> Bits() const {
    Grid<uint32_t> bits(submodel_.depth, submodel_.width);
    for (size_t shard = 0; shard < levels_.size(); ++shard)
      bits.values()[shard] = context_.costs.bits()[levels_[shard]];
    return bits;
  }

  const PlanningContext& context_;
  const Plan& plan_;
  const uint64_t turn_bytes_;
  const Submodel submodel_;
  std::vector<size_t> levels_;  ///< [n * m] of the last turn
};

}  // namespace

void PlanTurns(const PlanningContext& context, Plan* plan) {
  if (context.request.turns() == nullptr) return;
  std::vector<PlanTurn> planned;
  TurnPlanner turns(context, *plan);
  plan->turn_bytes = UnlessZero(turns.turn_bytes());
  planned.push_back(turns.First());
  while (planned.size() < context.request.turns()->count) {
    planned.push_back(turns.Next(planned.back().read_bytes));
    const PlanTurn& turn = planned.back();
    context.Say("turn " + std::to_string(planned.size()) + ": begins with " +
                Counted(turn.preload.size(), "shard") + " in memory, " +
                std::to_string(turn.preload_bytes) + " bytes, and reads " +
                std::to_string(turn.read_bytes));
  }
  plan->turns = std::move(planned);
}

}  // namespace sti
