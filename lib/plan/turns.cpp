#include "plan/turns.h"

#include <algorithm>
#include <numeric>

#include "plan/aib.h"
#include "plan/joint.h"
#include "plan/text.h"
#include "plan/turn_run.h"

namespace sti {
namespace {

/// The shards of one plan from turn to turn.
class Turns {
 public:
  Turns(const Planning& planning, const Plan& plan)
      : planning_(planning),
        plan_(plan),
        turn_bytes_(planning.request.turn_bytes.value_or(planning.request.preload_bytes)),
        submodel_(SubmodelOf(plan)) {
    for (uint32_t bits : plan.bits.values()) levels_.push_back(*planning.costs.LevelOf(bits));
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
    turn.predicted_loss = plan_.predicted_loss;
    turn.predicted_accuracy = plan_.predicted_accuracy;
    return turn;
  }

  /// The turn after one that read `read_bytes`.
  [[nodiscard]] PlanTurn Next(uint64_t read_bytes) {
    PlanTurn turn;
    turn.preload = Kept(&turn.preload_bytes);
    const ShardCosts costs = planning_.costs.Holding(
        turn.preload, planning_.input.catalog.block_bytes, planning_.devices.deciding());
    Raise(costs, read_bytes);
    turn.bits = Bits();
    const PlanCheck check =
        EvaluateTurn(planning_.input, planning_.request, planning_.devices, plan_, turn);
    turn.read_bytes = check.parameter_bytes;
    turn.aib_us = check.aib_us;
    turn.predicted_latency_us = check.latency_us;
    turn.predicted_p99_us = check.p99_us;
    turn.predicted_loss = check.loss;
    turn.predicted_accuracy = check.accuracy;
    return turn;
  }

 private:
  static Submodel SubmodelOf(const Plan& plan) {
    return {static_cast<uint32_t>(plan.layers.size()), plan.width};
  }

  /// A budget with its own preload buffer, this turn's levels as the floor.
  [[nodiscard]] Allocation AllocationWith(const ShardCosts& costs, uint64_t preload_bytes) const {
    Budget budget = planning_.AllocationOf(submodel_).budget();
    budget.preload_bytes = preload_bytes;
    budget.target_us = plan_.target_us;
    std::vector<LevelRange> ranges;
    ranges.reserve(levels_.size());
    for (size_t level : levels_) ranges.push_back({level, costs.levels() - 1});
    return {costs, plan_.layers, plan_.width, budget, std::move(ranges)};
  }

  /// The prefix that stays in memory, as its last turn had it.
  [[nodiscard]] std::vector<ShardAtBits> Kept(uint64_t* bytes) const {
    const Allocation allocation = AllocationWith(planning_.costs, turn_bytes_);
    *bytes = allocation.preloaded_bytes();
    std::vector<ShardAtBits> kept;
    kept.reserve(allocation.preloaded());
    for (size_t shard = 0; shard < allocation.preloaded(); ++shard) {
      kept.push_back({allocation.IdOf(shard), planning_.costs.bits()[levels_[shard]]});
    }
    return kept;
  }

  /// Raises shards while this turn can load the planes and later ones could live with it.
  void Raise(const ShardCosts& costs, uint64_t read_bytes_before) {
    if (!plan_.target_us) return;
    Allocation now = AllocationWith(costs, 0);
    Allocation later = AllocationWith(planning_.costs, turn_bytes_);
    if (!now.Fits() || !later.Fits()) return;
    std::vector<size_t> position(planning_.input.catalog.layers, plan_.layers.size());
    for (size_t k = 0; k < plan_.layers.size(); ++k) position[plan_.layers[k]] = k;
    uint64_t read_bytes = ReadBytes(now);
    for (const Step& step : StepsByDensity(planning_)) {
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

  /// Bytes of all shards at this turn's levels, as `allocation` counts them.
  [[nodiscard]] uint64_t ReadBytes(const Allocation& allocation) const {
    uint64_t bytes = 0;
    for (size_t shard = 0; shard < levels_.size(); ++shard)
      bytes += allocation.BytesAt(shard, levels_[shard]);
    return bytes;
  }

  [[nodiscard]] Grid<uint32_t> Bits() const {
    Grid<uint32_t> bits(submodel_.depth, submodel_.width);
    for (size_t shard = 0; shard < levels_.size(); ++shard)
      bits.values()[shard] = planning_.costs.bits()[levels_[shard]];
    return bits;
  }

  const Planning& planning_;
  const Plan& plan_;
  const uint64_t turn_bytes_;
  const Submodel submodel_;
  std::vector<size_t> levels_;  ///< [n * m] of the last turn
};

}  // namespace

PlanCheck EvaluateTurn(const PlanInput& input, const PlanRequest& request,
                       const DeviceModels& devices, const Plan& plan, const PlanTurn& turn) {
  PlanCheck check;
  check.preload_bytes = turn.preload_bytes;
  std::optional<uint64_t> staging;
  if (const auto memory = ShardMemory(input, request, plan.length, plan.width)) {
    const uint64_t held = AddSaturated(std::max(plan.turn_bytes, turn.preload_bytes),
                                       OverhangOf(input, devices.deciding(), plan, turn, nullptr));
    staging = *memory - std::min(*memory, held);
  }
  const PlannedRun median = TurnRunOf(input, devices.median, plan, turn);
  const PlannedRun p99 = TurnRunOf(input, devices.p99, plan, turn);
  check.latency_us = LatencyOf(median, staging);
  check.p99_us = LatencyOf(p99, staging);
  check.deciding_latency_us = devices.risk == Risk::kP99 ? check.p99_us : check.latency_us;
  const PlannedRun& deciding = devices.risk == Risk::kP99 ? p99 : median;
  const ComputeLane& lane = deciding.lane;
  std::vector<double> read_us(lane.layers);
  for (const StreamedShard& read : deciding.streamed) {
    read_us[read.position] += read.load_us;
    check.parameter_bytes += read.bytes;
  }
  // As in a plan: what is held counts as IO that a bonus has paid.
  PlanTurn all_read;
  all_read.bits = turn.bits;
  std::vector<double> all_us(lane.layers);
  for (const StreamedShard& shard : TurnRunOf(input, devices.deciding(), plan, all_read).streamed)
    all_us[shard.position] += shard.load_us;
  const double bonus_us = std::accumulate(all_us.begin(), all_us.end(), 0.0) -
                          std::accumulate(read_us.begin(), read_us.end(), 0.0);
  const auto aibs = [&](double bonus, std::span<const double> layer_io_us) {
    return ComputeAibs(bonus + plan.wake_us, plan.slack_us.value_or(0), lane.fixed.embed_io_us,
                       lane.layer_us, layer_io_us);
  };
  check.aib_us = aibs(bonus_us, all_us);
  check.valid =
      !plan.target_us || (AibsValid(aibs(0, read_us)) &&
                          check.deciding_latency_us <= *plan.target_us + kTimeTolerance_us);
  if (!check.valid)
    check.problem = "takes " + Ms(check.deciding_latency_us) + " of " + Ms(*plan.target_us);
  const PredictedQuality quality = PredictQuality(input, plan, turn.bits);
  check.loss = quality.loss;
  check.accuracy = quality.accuracy;
  return check;
}

Result<std::vector<PlanCheck>> CheckTurns(const PlanInput& input, const PlanRequest& request,
                                          const Plan& plan) {
  Plan checked = plan;
  if (request.target_us) checked.target_us = request.target_us;
  STI_ASSIGN_OR_RETURN(const DeviceModels devices,
                       DeviceModels::Make(input.profile, plan.length, request.judging.risk,
                                          {plan.freq, request.judging.interpolate}));
  STI_ASSIGN_OR_RETURN(const PlanCheck whole, CheckPlan(input, request, plan));
  checked.slack_us = whole.slack_us;
  std::vector<PlanCheck> checks;
  for (const PlanTurn& turn : plan.turns)
    checks.push_back(EvaluateTurn(input, request, devices, checked, turn));
  return checks;
}

void PlanTurns(const Planning& planning, Plan* plan) {
  if (planning.request.turns == 0) return;
  std::vector<PlanTurn> planned;
  Turns turns(planning, *plan);
  plan->turn_bytes = turns.turn_bytes();
  planned.push_back(turns.First());
  while (planned.size() < planning.request.turns) {
    planned.push_back(turns.Next(planned.back().read_bytes));
    const PlanTurn& turn = planned.back();
    planning.Say("turn " + std::to_string(planned.size()) + ": begins with " +
                 std::to_string(turn.preload.size()) + " shards in memory, " +
                 std::to_string(turn.preload_bytes) + " bytes, and reads " +
                 std::to_string(turn.read_bytes));
  }
  plan->turns = std::move(planned);
}

}  // namespace sti
