// The yardstick: the least loss that any plan has, by plain dynamic programming over whole
// microseconds and bytes. Shares no code with the planner; the values of shards are its input.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace sti::test {

/// One submodel with whole times and sizes. Tables are [shards][levels], in layer order.
struct ExactProblem {
  size_t layers = 0;
  size_t width = 0;
  size_t levels = 0;
  std::vector<double> loss;
  std::vector<int64_t> load_us;
  std::vector<int64_t> bytes;
  std::vector<int64_t> capacity_us;  ///< [layers] loads up to and with this layer
  int64_t preload_bytes = 0;
  int64_t rows_us = 0;  ///< what is left when the embedding rows are there, without lead time
};

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// [p] least loss of the first p shards within the preload buffer.
inline std::vector<double> LeastLossInMemory(const ExactProblem& problem) {
  const auto room = static_cast<size_t>(problem.preload_bytes) + 1;
  std::vector<double> least(room, 0.0);  // by bytes that may be used
  std::vector<double> result = {0.0};
  for (size_t shard = 0; shard < problem.layers * problem.width; ++shard) {
    std::vector<double> next(room, kNever);
    for (size_t level = 0; level < problem.levels; ++level) {
      const size_t at = shard * problem.levels + level;
      for (auto b = static_cast<size_t>(problem.bytes[at]); b < room; ++b) {
        const double loss = least[b - static_cast<size_t>(problem.bytes[at])] + problem.loss[at];
        next[b] = std::min(next[b], loss);
      }
    }
    least = std::move(next);
    result.push_back(least.back());
  }
  return result;
}

/// Least loss of shards p.. streamed, IO beginning at time 0.
inline double LeastLossStreamed(const ExactProblem& problem, size_t p) {
  // A layer may have longer than those behind it.
  const int64_t end = std::max<int64_t>(*std::ranges::max_element(problem.capacity_us), 0);
  std::vector<double> least(static_cast<size_t>(end) + 1, kNever);  // by exact time used
  least[0] = 0;
  for (size_t shard = p; shard < problem.layers * problem.width; ++shard) {
    std::vector<double> next(least.size(), kNever);
    for (size_t t = 0; t < least.size(); ++t) {
      if (least[t] == kNever) continue;
      for (size_t level = 0; level < problem.levels; ++level) {
        const size_t at = shard * problem.levels + level;
        const int64_t then = static_cast<int64_t>(t) + problem.load_us[at];
        if (then > problem.capacity_us[shard / problem.width]) continue;
        double& best = next[static_cast<size_t>(then)];
        best = std::min(best, least[t] + problem.loss[at]);
      }
    }
    least = std::move(next);
  }
  return *std::min_element(least.begin(), least.end());
}

/// Nothing if no plan of this submodel is in time.
inline std::optional<double> LeastLoss(const ExactProblem& problem) {
  if (problem.capacity_us[0] < 0 || problem.rows_us < 0) return std::nullopt;
  const std::vector<double> in_memory = LeastLossInMemory(problem);
  double best = kNever;
  for (size_t p = 0; p < in_memory.size() && in_memory[p] != kNever; ++p)
    best = std::min(best, in_memory[p] + LeastLossStreamed(problem, p));
  if (best == kNever) return std::nullopt;
  return best;
}

}  // namespace sti::test
