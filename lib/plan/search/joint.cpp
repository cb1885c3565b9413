#include "plan/search/joint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "plan/budget.h"
#include "plan/text.h"

namespace sti {
namespace {

/// States a shard that a search over P shards of L levels keeps: work, and so time, is about the
/// same for every size.
constexpr size_t kSearchSteps = 120000;
constexpr size_t kFewestStates = 48;
constexpr size_t kMostStates = 2048;
/// Submodels for which bits are searched in full: those with the least loss level by level, which
/// is seldom 1 % from the best.
constexpr size_t kMostSearched = 4;

size_t StatesFor(const Allocation& allocation) {
  const size_t steps = allocation.shards() * allocation.costs().levels();
  return std::clamp(kSearchSteps / steps, kFewestStates, kMostStates);
}

BitProblem ProblemOf(const PlanningContext& context, const Allocation& allocation) {
  BitProblem problem;
  problem.width = allocation.width();
  problem.levels = context.costs.levels();
  problem.capacity_us = allocation.budget().Capacities();
  problem.preload_bytes = allocation.budget().preload_bytes;
  const size_t shards = allocation.shards();
  problem.loss.reserve(shards * problem.levels);
  problem.load_us.reserve(shards * problem.levels);
  problem.bytes.reserve(shards * problem.levels);
  for (size_t shard = 0; shard < shards; ++shard) {
    const double weight = context.value.Weight(allocation.IdOf(shard));
    for (size_t level = 0; level < problem.levels; ++level) {
      problem.loss.push_back(weight * context.value.Lack(level));
      problem.load_us.push_back(allocation.LoadAt(shard, level));
      problem.bytes.push_back(allocation.BytesAt(shard, level));
    }
    problem.floor.push_back(allocation.range(shard).floor);
    problem.ceiling.push_back(allocation.range(shard).ceiling);
  }
  return problem;
}

/// Raises shards level by level from the highest uniform bits.
void RaiseFromUniform(std::span<const size_t> order, Allocation* allocation) {
  SetHighestUniform(allocation);
  RaiseByLevel(allocation, order);
}

/// Sets bits that are searched in full; returns whether all fits. The search takes the layers to be
/// as slow as the allocation's bits make them. Where the bits that it finds make them slower, it
/// begins again with these, a few times.
bool SetSearchedBits(const PlanningContext& context, Allocation* allocation) {
  const int tries = context.costs.bits_take_time() ? 3 : 1;
  for (int i = 0; i < tries; ++i) {
    const auto choice = ChooseBits(ProblemOf(context, *allocation), StatesFor(*allocation));
    if (!choice) return false;
    if (allocation->SetLevels(choice->levels)) return true;
  }
  return false;
}

/// Returns an upper bound of the IO time that preloading can save: S bytes, each at the most
/// microseconds a byte that any shard costs.
double MostBonus(const PlanningContext& context) {
  if (context.scope.host != nullptr || context.terms.preload_bytes == 0) return 0;
  const ShardCosts& costs = context.costs;
  double dearest = 0;  // microseconds a byte
  for (uint32_t layer = 0; layer < context.input->catalog.layers; ++layer) {
    for (uint32_t slice = 0; slice < context.input->catalog.width; ++slice) {
      for (size_t level = 0; level < costs.levels(); ++level) {
        const ShardId id{layer, slice};
        const auto bytes = static_cast<double>(costs.bytes(id, level));
        dearest = std::max(dearest, costs.load_us(id, level) / bytes);
      }
    }
  }
  return dearest * static_cast<double>(context.terms.preload_bytes);
}

/// Least losses that submodels could reach if all IO time until the last layer starts could go to
/// any shard, and a shard's steps were divisible.
class Bounds {
 public:
  explicit Bounds(const PlanningContext& context)
      : context_(context), bonus_us_(MostBonus(context)), steps_(StepsByDensity(context)) {}

  /// Infinite if not even the fewest bits can be loaded.
  [[nodiscard]] double Of(const Submodel& submodel, const Allocation& lowest) const {
    std::vector<bool> runs(context_.input->catalog.layers);
    for (uint32_t layer : lowest.layers()) runs[layer] = true;
    double left_us = lowest.budget().Capacities().back() + bonus_us_ + FasterUs(lowest);
    double weight = 0;
    double lack = 0;
    for (size_t shard = 0; shard < lowest.shards(); ++shard) {
      const double w = context_.value.Weight(lowest.IdOf(shard));
      weight += w;
      lack += w * context_.value.Lack(lowest.level(shard));
      left_us -= lowest.LoadAt(shard, lowest.level(shard));
    }
    for (const Step& step : steps_) {
      if (left_us <= 0) break;
      if (!runs[step.id.layer] || step.id.slice >= submodel.width) continue;
      lack -= step.gain * (step.load_us > left_us ? left_us / step.load_us : 1.0);
      left_us -= step.load_us;
    }
    return context_.value.FullLoss(submodel.depth, submodel.width) +
           context_.value.Damage(submodel.depth, submodel.width) * std::max(lack, 0.0) / weight;
  }

 private:
  /// Returns how much less the last layer could take at other bits than the lowest.
  [[nodiscard]] double FasterUs(const Allocation& lowest) const {
    return lowest.width() * (context_.costs.decode_us(0) - context_.costs.least_decode_us());
  }

  const PlanningContext& context_;
  double bonus_us_;
  std::vector<Step> steps_;
};

/// Losses closer than this are equal; the deeper submodel is taken.
constexpr double kSameLoss = 1e-9;

struct Candidate {
  const Submodel* submodel;
  double bound;       ///< no bits have less loss
  double quick_loss;  ///< of bits raised level by level
};

/// All that the fewest bits of load in time, most promising first, as far as any could be better
/// than what another reaches level by level.
std::vector<Candidate> Promising(const PlanningContext& context,
                                 std::span<const Submodel> submodels) {
  const Bounds bounds(context);
  std::vector<Candidate> candidates;
  candidates.reserve(submodels.size());
  for (const Submodel& submodel : submodels) {
    const Allocation lowest = context.AllocationOf(submodel);
    if (lowest.Fits()) candidates.push_back({&submodel, bounds.Of(submodel, lowest), 0});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.bound < b.bound; });
  double best = std::numeric_limits<double>::infinity();
  size_t kept = 0;
  for (; kept < candidates.size() && candidates[kept].bound < best; ++kept) {
    Candidate& candidate = candidates[kept];
    Allocation allocation = context.AllocationOf(*candidate.submodel);
    RaiseFromUniform(context.ShardOrder(*candidate.submodel), &allocation);
    candidate.quick_loss = context.LossOf(allocation);
    best = std::min(best, candidate.quick_loss);
  }
  candidates.resize(kept);
  std::stable_sort(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.quick_loss < b.quick_loss; });
  return candidates;
}

}  // namespace

std::vector<Step> StepsByDensity(const PlanningContext& context) {
  const ShardCosts& costs = context.costs;
  std::vector<Step> steps;
  for (uint32_t layer = 0; layer < context.input->catalog.layers; ++layer) {
    for (uint32_t slice = 0; slice < context.input->catalog.width; ++slice) {
      const ShardId id{layer, slice};
      const double weight = context.value.Weight(id);
      size_t level = 0;
      while (level + 1 < costs.levels()) {
        Step best{id, level, 0, -1};
        for (size_t next = level + 1; next < costs.levels(); ++next) {
          const Step step{id, next, costs.load_us(id, next) - costs.load_us(id, level),
                          weight * (context.value.Lack(level) - context.value.Lack(next))};
          if (best.level == level || step.gain * best.load_us > best.gain * step.load_us)
            best = step;
        }
        steps.push_back(best);
        level = best.level;
      }
    }
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return a.gain * b.load_us > b.gain * a.load_us;
  });
  return steps;
}

std::optional<Allocation> BestBits(const PlanningContext& context, const Submodel& submodel) {
  Allocation allocation = context.AllocationOf(submodel);
  if (!allocation.Fits()) return std::nullopt;
  const std::vector<size_t> order = context.ShardOrder(submodel);
  if (context.costs.bits_take_time()) RaiseFromUniform(order, &allocation);
  if (!SetSearchedBits(context, &allocation)) {
    // Staging within --memory may make reads wait, which budgets do not know: raise shards one by
    // one then, each tried against the whole timeline.
    allocation = context.AllocationOf(submodel);
    SetHighestUniform(&allocation);
  }
  RaiseByLevel(&allocation, order);
  return allocation;
}

std::optional<JointChoice> ChooseJointly(const PlanningContext& context,
                                         std::span<const Submodel> candidates) {
  const std::vector<Candidate> promising = Promising(context, candidates);
  std::optional<JointChoice> best;
  size_t searched = 0;
  for (const Candidate& candidate : promising) {
    if (best && (candidate.bound >= best->loss - kSameLoss || searched == kMostSearched)) continue;
    std::optional<Allocation> allocation = BestBits(context, *candidate.submodel);
    ++searched;
    const double loss = context.LossOf(*allocation);
    context.Say("joint choice: " + NameOf(*candidate.submodel) + " reaches a loss of " +
                Fixed4(loss) + ", none of its bits less than " + Fixed4(candidate.bound));
    if (!best || loss < best->loss - kSameLoss)
      best = JointChoice{*candidate.submodel, std::move(*allocation), loss};
  }
  if (best) {
    context.Say("joint choice: " + NameOf(best->submodel) + " is taken; of " +
                std::to_string(candidates.size()) + " submodels that compute in time " +
                std::to_string(promising.size()) + " could be best, " + std::to_string(searched) +
                " were searched in full");
  }
  return best;
}

namespace {

/// One way to set the shards of a pass so far.
struct State {
  double used = 0;      ///< bytes, or lateness in microseconds
  double loss = 0;      ///< sum so far
  uint32_t parent = 0;  ///< state of the shard before that it extends
  uint32_t level = 0;   ///< of this shard
};

/// States by ascending `used` and strictly descending `loss`.
using Front = std::vector<State>;

/// Keeps, of each of `most` ranges of loss, the state that uses least. Ranges are narrower where
/// the loss is low: most of what is found in the end extends states from there.
void Thin(size_t most, Front* front) {
  if (front->size() <= most) return;
  const double least = front->back().loss;
  const double range = front->front().loss - least;
  Front kept;
  kept.reserve(most + 1);
  size_t last_cell = std::numeric_limits<size_t>::max();
  for (const State& state : *front) {
    const double share = (state.loss - least) / range;
    const auto cell = static_cast<size_t>(std::sqrt(share) * static_cast<double>(most));
    if (cell != last_cell) kept.push_back(state);
    last_cell = cell;
  }
  // The end with the least loss may be all that the other pass lacks.
  if (kept.back().loss > least) kept.push_back(front->back());
  *front = std::move(kept);
}

/// The front after one more shard: `next(state, level)` is what is used then, ascending with the
/// state's; nothing beyond `limit` is kept.
template <typename Next>
Front Extend(const Front& front, const BitProblem& problem, size_t shard, double limit,
             const Next& next) {
  const size_t low = problem.floor[shard];
  const size_t high = problem.ceiling[shard];
  std::vector<size_t> heads(problem.levels, 0);
  std::vector<double> used(problem.levels, std::numeric_limits<double>::infinity());
  for (size_t level = low; level <= high && !front.empty(); ++level)
    used[level] = next(front[0].used, level);
  Front extended;
  extended.reserve(front.size() * 2);
  while (true) {
    size_t level = low;
    for (size_t other = low + 1; other <= high; ++other)
      if (used[other] < used[level]) level = other;
    if (!(used[level] <= limit)) return extended;
    const State& from = front[heads[level]];
    const double loss = from.loss + problem.loss[problem.At(shard, level)];
    if (extended.empty() || loss < extended.back().loss) {
      if (!extended.empty() && extended.back().used == used[level]) extended.pop_back();
      extended.push_back(
          {used[level], loss, static_cast<uint32_t>(heads[level]), static_cast<uint32_t>(level)});
    }
    const size_t head = ++heads[level];
    used[level] = head < front.size() ? next(front[head].used, level)
                                      : std::numeric_limits<double>::infinity();
  }
}

/// [p] fronts of the first p shards over bytes, as far as S holds any.
std::vector<Front> ForwardOverBytes(const BitProblem& problem, size_t states) {
  std::vector<Front> fronts = {{State{}}};
  const auto limit = static_cast<double>(problem.preload_bytes);
  for (size_t shard = 0; shard < problem.shards(); ++shard) {
    Front front = Extend(fronts.back(), problem, shard, limit, [&](double used, size_t level) {
      return used + static_cast<double>(problem.bytes[problem.At(shard, level)]);
    });
    if (front.empty()) break;
    Thin(states, &front);
    fronts.push_back(std::move(front));
  }
  return fronts;
}

/// [p] fronts of the shards from p on over lateness, whose limit is 0. Empty where none is in time.
std::vector<Front> BackwardOverTime(const BitProblem& problem, size_t states) {
  std::vector<Front> fronts(problem.shards() + 1);
  fronts.back() = {State{-std::numeric_limits<double>::infinity(), 0, 0, 0}};
  for (size_t shard = problem.shards(); shard-- > 0;) {
    const double capacity_us = problem.capacity_us[shard / problem.width];
    fronts[shard] = Extend(
        fronts[shard + 1], problem, shard, kTimeTolerance_us, [&](double late_us, size_t level) {
          return LatenessBefore(late_us, capacity_us, problem.load_us[problem.At(shard, level)]);
        });
    Thin(states, &fronts[shard]);
    if (fronts[shard].empty()) break;
  }
  return fronts;
}

}  // namespace

std::optional<BitChoice> ChooseBits(const BitProblem& problem, size_t states) {
  if (problem.capacity_us.empty() || problem.capacity_us[0] < -kTimeTolerance_us)
    return std::nullopt;
  const std::vector<Front> before = ForwardOverBytes(problem, states);
  const std::vector<Front> after = BackwardOverTime(problem, states);
  std::optional<BitChoice> best;
  for (size_t p = 0; p < before.size(); ++p) {
    if (before[p].empty() || after[p].empty()) continue;
    const double loss = before[p].back().loss + after[p].back().loss;
    // The longer prefix is taken where losses are equal, as it leaves more IO time.
    if (!best || loss <= best->loss) best = BitChoice{{}, p, loss};
  }
  if (!best) return std::nullopt;
  best->levels.resize(problem.shards());
  size_t at = before[best->preloaded].size() - 1;
  for (size_t shard = best->preloaded; shard-- > 0;) {
    const State& state = before[shard + 1][at];
    best->levels[shard] = state.level;
    at = state.parent;
  }
  at = after[best->preloaded].size() - 1;
  for (size_t shard = best->preloaded; shard < problem.shards(); ++shard) {
    const State& state = after[shard][at];
    best->levels[shard] = state.level;
    at = state.parent;
  }
  return best;
}

}  // namespace sti
