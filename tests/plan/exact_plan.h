// The yardstick applied: the exact solver's problem for one submodel, and what a plan misses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "exact_solver.h"
#include "plan/search/context.h"

namespace sti::test {

/// Times are whole multiples of `grid_us`, sizes of `grid_bytes`.
inline ExactProblem ExactOf(const PlanningContext& context, const Submodel& submodel,
                            double grid_us = 1, uint64_t grid_bytes = 1) {
  const Allocation lowest = context.AllocationOf(submodel);
  ExactProblem problem;
  problem.layers = submodel.depth;
  problem.width = submodel.width;
  problem.levels = context.costs.levels();
  for (size_t shard = 0; shard < lowest.shards(); ++shard) {
    const double weight = context.value.Weight(lowest.IdOf(shard));
    for (size_t level = 0; level < problem.levels; ++level) {
      problem.loss.push_back(weight * context.value.Lack(level));
      problem.load_us.push_back(std::llround(lowest.LoadAt(shard, level) / grid_us));
      problem.bytes.push_back(static_cast<int64_t>(lowest.BytesAt(shard, level) / grid_bytes));
    }
  }
  const ComputeLane lane = context.LaneOfSubmodel(submodel);
  const auto whole = [&](double us) {
    return static_cast<int64_t>(std::floor(us / grid_us + 1e-6));
  };
  double left_us = *context.request.target_us - lane.compute_us() - lane.fixed.embed_io_us;
  problem.rows_us = whole(left_us);
  left_us += context.request.wake_us.value_or(0);
  for (uint32_t k = 0; k < submodel.depth; ++k) {
    if (!lane.resident_us.empty()) left_us -= lane.resident_us[k];
    // The head's parameters come last, and the last layer's compute hides them.
    const bool last = k + 1 == submodel.depth;
    const double head_us = lane.resident_us.empty() ? 0 : lane.resident_us.back();
    problem.capacity_us.push_back(
        whole(left_us - (last ? std::max(0.0, head_us - lane.last_us) : 0)));
    left_us += lane.layer_us;
  }
  problem.preload_bytes = static_cast<int64_t>(context.request.preload_bytes / grid_bytes);
  return problem;
}

/// The least loss of any submodel and bits; kNever if none is in time.
inline double LeastLossOfAny(const PlanningContext& context, double grid_us = 1,
                             uint64_t grid_bytes = 1) {
  double best = kNever;
  for (const Submodel& submodel : context.submodels) {
    const ExactProblem problem = ExactOf(context, submodel, grid_us, grid_bytes);
    const std::optional<double> lack = LeastLoss(problem);
    if (!lack) continue;
    double weight = 0;
    for (size_t at = 0; at < problem.loss.size(); at += problem.levels)
      weight += problem.loss[at] / context.value.Lack(0);
    best =
        std::min(best, context.value.FullLoss(submodel.depth, submodel.width) +
                           context.value.Damage(submodel.depth, submodel.width) * *lack / weight);
  }
  return best;
}

/// Mean and worst of what is missed.
struct Missed {
  double sum = 0;
  double worst = 0;
  int cases = 0;
  void Add(double share) {
    sum += share;
    worst = std::max(worst, share);
    ++cases;
  }
  void Print(const char* what) const {
    std::printf("%-40s mean %6.3f %%, worst %6.3f %%, %d cases\n", what, 100 * sum / cases,
                100 * worst, cases);
  }
};

}  // namespace sti::test
