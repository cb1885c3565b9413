#include "pipeline/lane/guarantee.h"

#include <algorithm>

#include "types/fallback.h"

namespace sti {
namespace {

std::unique_ptr<const PlanCore> PlanOfFallback(const PlanCore& plan) {
  const Fallback& fallback = *plan.fallback;
  auto own = std::make_unique<PlanCore>();
  own->model = plan.model;
  own->strategy = Strategy::kSti;
  own->length = plan.length;
  RunUniformly(fallback.layers, fallback.width, fallback.bits, own.get());
  own->target_us = plan.target_us;
  PlanTimes& times = own->times.emplace();
  times.layer_us = times.layer_p99_us = fallback.layer_us;
  times.last_layer_us = times.last_layer_p99_us = fallback.last_layer_us;
  times.head_us = fallback.head_us;
  times.layer_io_us.assign(fallback.layers.size(), 0);
  return own;
}

}  // namespace

Guarantee::Guarantee(const ContainerIndex& index, const PlanCore& plan, RouteId id)
    : index_(&index),
      plan_(&plan),
      fallback_plan_(PlanOfFallback(plan)),
      shards_(ShardsOf(*plan.fallback)),
      give_up_us_(GiveUpTimes(*plan.fallback, plan.layers,
                              std::max(plan.times->layer_us, plan.times->layer_p99_us),
                              index.info.depth_layers)),
      route_(index, *fallback_plan_, id, 0) {}

bool Guarantee::IsHeld(const PreloadBuffer& buffer) const {
  return std::all_of(shards_.begin(), shards_.end(), [&](const ShardAtBits& shard) {
    return buffer.Held(shard.id).Has(PartSet::For(shard.bits));
  });
}

// All that is computed takes as much longer as layers do now; runs that ended late have taught how
// much earlier to begin.
double Guarantee::BeforeUs(double need_us, double deadline_us, const Pace& pace) const {
  const double margin_us = fallback().margin_us;
  return deadline_us - pace.slowdown() * (need_us - margin_us) - margin_us - pace.overshoot_us();
}

double Guarantee::RowsByUs(double deadline_us, const Pace& pace) {
  constexpr double kRowsNeed = 2;  // times what the plan counts on, which are medians
  route_.pace().ExpectSlowdown(pace.slowdown());
  const double narrowest_us = deadline_us - fallback().margin_us - pace.overshoot_us() -
                              pace.slowdown() * fallback().embed_us - route_.pace().LeastUs(0);
  return std::max(BeforeUs(fallback().reserve_us(), deadline_us, pace),
                  std::min(kRowsNeed * plan_->times->embed_io_us, narrowest_us));
}

double Guarantee::LayerByUs(uint32_t k, double deadline_us, const Pace& pace) const {
  return BeforeUs(give_up_us_[k], deadline_us, pace);
}

std::optional<size_t> Guarantee::GoesOnAt(uint32_t done) const {
  return FallbackGoesOnAt(fallback(), plan_->layers, done, index_->info.depth_layers);
}

}  // namespace sti
