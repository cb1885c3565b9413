#include "types/fallback.h"

#include <algorithm>

namespace sti {

double Fallback::reserve_us() const { return embed_us + LayersUs(0); }

double Fallback::LayersUs(size_t first) const {
  double time_us = head_us + margin_us;
  if (first < layers.size()) {
    time_us += static_cast<double>(layers.size() - 1 - first) * layer_us + last_layer_us;
  }
  return time_us;
}

double WakingMarginUs(double target_us) {
  constexpr double kShare = 0.03;
  constexpr double kLeast_us = 1000;
  return std::max(kLeast_us, kShare * target_us);
}

std::vector<ShardAtBits> ShardsOf(const Fallback& fallback) {
  std::vector<ShardAtBits> shards;
  shards.reserve(fallback.layers.size() * fallback.width);
  for (uint32_t layer : fallback.layers) {
    for (uint32_t slice = 0; slice < fallback.width; ++slice)
      shards.push_back({{layer, slice}, fallback.bits});
  }
  return shards;
}

std::optional<size_t> FallbackGoesOnAt(const Fallback& fallback, std::span<const uint32_t> planned,
                                       size_t done, const DepthMap& depths) {
  if (done == 0) return 0;
  const auto computed = planned.first(done);
  const auto next =
      std::upper_bound(fallback.layers.begin(), fallback.layers.end(), computed.back());
  std::vector<uint32_t> runs(computed.begin(), computed.end());
  runs.insert(runs.end(), next, fallback.layers.end());
  if (depths.size() >= runs.size() ? depths[runs.size() - 1] != runs
                                   : FirstLayers(static_cast<uint32_t>(runs.size())) != runs)
    return std::nullopt;
  return static_cast<size_t>(next - fallback.layers.begin());
}

double FallbackNeedUs(const Fallback& fallback, std::span<const uint32_t> planned, size_t done,
                      const DepthMap& depths) {
  const std::optional<size_t> first = FallbackGoesOnAt(fallback, planned, done, depths);
  return first ? fallback.LayersUs(*first) : fallback.reserve_us();
}

std::vector<double> GiveUpTimes(const Fallback& fallback, std::span<const uint32_t> planned,
                                double layer_us, const DepthMap& depths) {
  std::vector<double> times_us;
  times_us.reserve(planned.size());
  for (size_t k = 0; k < planned.size(); ++k) {
    const double here_us = FallbackNeedUs(fallback, planned, k, depths);
    const double behind_us =
        k + 1 == planned.size() ? 0 : layer_us + FallbackNeedUs(fallback, planned, k + 1, depths);
    times_us.push_back(std::max(here_us, behind_us));
  }
  return times_us;
}

}  // namespace sti
