#include "plan/search/bit_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "plan/budget.h"

namespace sti {
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
