#include "plan/sweep.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "plan/planner.h"
#include "plan/search/context.h"
#include "plan/search/search.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr size_t kMostEntries = 64;
constexpr size_t kTargets = 8;

/// 1.234 to 1.3, 123.4 to 130: up to two digits.
double RoundedUp(double value) {
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return std::ceil(value / unit - 1e-9) * unit;
}

double MeanBits(const Plan& plan) {
  double sum = 0;
  for (uint32_t bits : plan.bits.values()) sum += bits;
  return sum / static_cast<double>(plan.layers.size() * plan.width);
}

/// Predictions closer than this, relative to the better, are equal to a person.
constexpr double kSameQuality = 5e-4;

bool Beats(const SweepCell& a, const SweepCell& b) {
  const double same = kSameQuality * std::max(std::abs(a.quality), std::abs(b.quality));
  const bool no_worse = a.quality >= b.quality - same &&
                        a.plan->predicted_latency_us <= b.plan->predicted_latency_us &&
                        a.plan->predicted_peak_bytes <= b.plan->predicted_peak_bytes;
  const bool better = a.quality > b.quality + same ||
                      a.plan->predicted_latency_us < b.plan->predicted_latency_us ||
                      a.plan->predicted_peak_bytes < b.plan->predicted_peak_bytes;
  return no_worse && better;
}

void MarkFront(SweepGrid* grid) {
  using Figure = std::optional<double> PredictedQuality::*;
  const auto all_have = [&](Figure figure) {
    return std::all_of(grid->cells.begin(), grid->cells.end(), [&](const SweepCell& cell) {
      return !cell.plan || (cell.plan->quality.*figure).has_value();
    });
  };
  constexpr std::pair<SweepQuality, Figure> kFigures[] = {
      {SweepQuality::kAccuracy, &PredictedQuality::accuracy},
      {SweepQuality::kF1, &PredictedQuality::f1},
      {SweepQuality::kAgreement, &PredictedQuality::agreement},
      {SweepQuality::kCosine, &PredictedQuality::cosine},
      {SweepQuality::kSpearman, &PredictedQuality::spearman}};
  Figure figure = nullptr;
  for (const auto& [quality, of_plan] : kFigures) {
    if (figure != nullptr || !all_have(of_plan)) continue;
    grid->quality = quality;
    figure = of_plan;
  }
  for (SweepCell& cell : grid->cells) {
    if (!cell.plan) continue;
    const auto shards = static_cast<double>(cell.plan->layers.size() * cell.plan->width);
    cell.quality = figure == nullptr ? shards * cell.mean_bits : *(cell.plan->quality.*figure);
  }
  for (SweepCell& cell : grid->cells) {
    cell.on_front =
        cell.plan && std::none_of(grid->cells.begin(), grid->cells.end(),
                                  [&](const SweepCell& o) { return o.plan && Beats(o, cell); });
  }
}

/// Returns the request of one plan: without turns, further lengths and a least accuracy.
Result<PlanRequest> OneOf(const CheckedInput& input, const PlanRequest& request) {
  PlanRequest one = request;
  if (one.turns() != nullptr) one.mode = PlanRequest::Warm{};
  one.further_lengths.clear();
  one.min_accuracy.reset();
  if (one.clocks.size() > 1) one.clocks.resize(1);
  if (one.batches.size() > 1) one.batches.resize(1);
  // All images have one length, which is none to ask for.
  if (input->info.has_text()) {
    STI_ASSIGN_OR_RETURN(one.length, PlannedLength(input, request.length));
  }
  return one;
}

/// Plans a cell: that there is no such plan is a result.
Status MakeCell(const CheckedInput& input, const PlanRequest& request, std::optional<Plan>* plan,
                std::optional<Error>* problem) {
  Result<Plan> made = MakePlan(input, request);
  if (made.ok()) {
    *plan = std::move(*made);
  } else if (made.error().kind == ErrorKind::kInfeasible) {
    *problem = made.error();
  } else {
    return made.error();
  }
  return {};
}

Status CheckList(size_t entries, const char* name) {
  if (entries != 0 && entries <= kMostEntries) return {};
  return UsageError("a sweep has 1 to 64 " + std::string(name) + ", not " +
                    std::to_string(entries));
}

}  // namespace

Result<std::vector<double>> SweepTargets(const PlanInput& input, const PlanRequest& request) {
  PlanRequest any = request;
  any.target_us = 1;  // only what it would take is asked
  any.strategy = Strategy::kSti;
  any.agents.reset();
  STI_RETURN_IF_ERROR(ValidateRequest(any));
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(const uint32_t length, PlannedLength(checked, request.length));
  PlanningScope scope{.length = length};
  if (!request.clocks.empty()) scope.clock = request.clocks[0];
  if (!request.batches.empty()) scope.batch = request.batches[0];
  STI_ASSIGN_OR_RETURN(const PlanningContext context,
                       PlanningContext::Make(checked, any, scope, nullptr));
  std::optional<double> least_us;
  for (const Submodel& submodel : context.submodels) {
    const std::optional<double> target_us = PriceOf(context, submodel).target_us;
    if (target_us && (!least_us || *target_us < *least_us)) least_us = target_us;
  }
  if (!least_us) return Infeasible(context);
  Allocation whole = context.AllocationOf(context.submodels.back(), false);
  whole.SetUniform(context.costs.levels() - 1);
  const double most_us = std::max(whole.SmallestTarget(), *least_us);
  std::vector<double> targets_us;
  targets_us.reserve(kTargets);
  for (size_t i = 0; i < kTargets; ++i) {
    const double share = static_cast<double>(i) / (kTargets - 1);
    targets_us.push_back(RoundedUp(*least_us * std::pow(most_us / *least_us, share)));
  }
  targets_us.erase(std::unique(targets_us.begin(), targets_us.end()), targets_us.end());
  return targets_us;
}

std::vector<uint64_t> SweepPreloads(const ShardCatalog& catalog) {
  size_t level = 0;
  while (level + 1 < catalog.bits.size() && catalog.bits[level + 1] <= kMostBits) ++level;
  uint64_t all = 0;
  for (size_t at = level; at < catalog.read_bytes.size(); at += catalog.bits.size())
    all += catalog.read_bytes[at];
  const uint64_t unit = std::bit_ceil(std::max<uint64_t>(all / 32, 4096));
  return {0, unit, 4 * unit, 16 * unit};
}

Result<SweepGrid> SweepPlans(const PlanInput& input, const PlanRequest& request,
                             std::span<const double> targets_us,
                             std::span<const uint64_t> preloads) {
  STI_RETURN_IF_ERROR(CheckList(targets_us.size(), "targets"));
  STI_RETURN_IF_ERROR(CheckList(preloads.size(), "preloads"));
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(PlanRequest one, OneOf(checked, request));
  SweepGrid grid;
  grid.embeds = checked->info.embeds();
  grid.cells.reserve(targets_us.size() * preloads.size());
  for (double target_us : targets_us) {
    for (uint64_t preload_bytes : preloads) {
      one.target_us = target_us;
      one.preload_bytes = preload_bytes;
      SweepCell cell{target_us, preload_bytes, std::nullopt, std::nullopt, 0, 0, false};
      STI_RETURN_IF_ERROR(MakeCell(checked, one, &cell.plan, &cell.problem));
      if (cell.plan) cell.mean_bits = MeanBits(*cell.plan);
      grid.cells.push_back(std::move(cell));
    }
  }
  MarkFront(&grid);
  return grid;
}

Result<std::vector<MemoryCell>> SweepMemories(const PlanInput& input, const PlanRequest& request,
                                              std::span<const uint64_t> memories) {
  STI_RETURN_IF_ERROR(CheckList(memories.size(), "memories"));
  STI_ASSIGN_OR_RETURN(const CheckedInput checked, CheckedInput::Make(input));
  STI_ASSIGN_OR_RETURN(PlanRequest one, OneOf(checked, request));
  std::vector<MemoryCell> cells;
  cells.reserve(memories.size());
  for (const uint64_t memory_bytes : memories) {
    one.judging.memory_bytes = memory_bytes;
    MemoryCell& cell = cells.emplace_back();
    cell.memory_bytes = memory_bytes;
    STI_RETURN_IF_ERROR(MakeCell(checked, one, &cell.plan, &cell.problem));
  }
  return cells;
}

}  // namespace sti
