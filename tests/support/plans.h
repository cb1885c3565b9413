// Plans that tests make of others, and parts of plans: times, what is preloaded, a fallback.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "types/plan.h"

namespace sti {

/// Gives a plan, or a submodel of one, the times of a device, the same for each layer.
template <std::derived_from<PlanCore> P>
P Timed(P plan, double layer_us = 2000, double layer_io_us = 100) {
  plan.times = PlanTimes{};
  plan.times->layer_us = plan.times->layer_p99_us = layer_us;
  plan.times->layer_io_us.assign(plan.layers.size(), layer_io_us);
  return plan;
}

/// Has it preload its first `count` shards, and no others.
template <std::derived_from<PlanCore> P>
P WithPreload(P plan, size_t count) {
  plan.preload.clear();
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width && plan.preload.size() < count; ++i)
      plan.preload.push_back({plan.Id(k, i), plan.bits.At(k, i)});
  }
  return plan;
}

/// Returns layers [first, last) of a plan.
inline Plan LayersOf(const Plan& plan, uint32_t first, uint32_t last) {
  Plan piece = plan;
  piece.layers.assign(plan.layers.begin() + first, plan.layers.begin() + last);
  piece.slices = piece.bits = Grid<uint32_t>(last - first, plan.width);
  for (uint32_t k = first; k < last; ++k) {
    std::ranges::copy(plan.slices.Row(k), piece.slices.Row(k - first).begin());
    std::ranges::copy(plan.bits.Row(k), piece.bits.Row(k - first).begin());
  }
  return piece;
}

/// Returns a fallback each of whose parts takes a millisecond.
inline Fallback FallbackOf(std::vector<uint32_t> layers, uint32_t width, uint32_t bits,
                           double margin_us) {
  Fallback fallback;
  fallback.layers = std::move(layers);
  fallback.width = width;
  fallback.bits = bits;
  fallback.layer_us = fallback.last_layer_us = 1000;
  fallback.embed_us = fallback.head_us = 1000;
  fallback.margin_us = margin_us;
  return fallback;
}

}  // namespace sti
