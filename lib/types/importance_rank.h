// The order that importance gives shards, in one place for the planner and for the file's `rank`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "types/importance.h"
#include "types/shard_id.h"

namespace sti {

/// Returns all shards, most important first (STI 5.2, the sorted table). Ties go to the lower loss,
/// then the lower layer, then the lower slice, so that the order is the same anywhere.
/// `scores` must hold layers x width numbers, none of them NaN, and `losses` as many or none.
inline std::vector<ShardId> ImportanceRank(const Importance& importance) {
  std::vector<size_t> order(importance.scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const bool has_losses = importance.losses.size() == importance.scores.size();
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (importance.scores[a] != importance.scores[b])
      return importance.scores[a] > importance.scores[b];
    return has_losses && importance.losses[a] < importance.losses[b];
  });
  std::vector<ShardId> rank;
  rank.reserve(order.size());
  for (size_t shard : order) {
    rank.push_back({static_cast<uint32_t>(shard / importance.width),
                    static_cast<uint32_t>(shard % importance.width)});
  }
  return rank;
}

}  // namespace sti
