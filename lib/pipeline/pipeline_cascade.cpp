// A pipeline between the levels of a cascade: what stays in memory from one to the next, and
// whether there is time for another.
#include "pipeline/pipeline.h"

namespace sti {

void Pipeline::EndInput() {
  if (force_->plan.cascade) loader_.KeepLess(force_->engagement.KeptBetween());
}

// As the run would: a layer is in time whose slices all fit in what is left when its reads have
// come. Reads go on at the rate that they have had lately. What a degraded level has not brought
// may be more than a bounded arena has room for.
bool Pipeline::HasTimeFor(RouteId id, const RunTerms& terms) {
  Route& route = force_->routes[id.index];
  Pace& pace = route.pace();
  pace.Begin(*terms.degrade_for_us);
  pace.ExpectSlowdown(run_->route().pace().slowdown());
  if (!loader_.SettleBy(*terms.taken + Microseconds(pace.LatestStartUs(0)))) return false;
  if (!loader_.Prepare(route, JobFor(id, terms)).ok()) return false;
  const double known_rate = loader_.lane().bytes_per_us();
  const double rate = known_rate > 0 ? known_rate : route.PlannedRate();
  const double begin_us = MicrosecondsBetween(*terms.taken, Clock::now()) +
                          pace.slowdown() * route.plan().times->embed_us;
  double bytes = 0;
  for (uint32_t k = 0; k < route.layers(); ++k) {
    bytes += static_cast<double>(route.EssentialBytes(k, loader_.buffer()));
    const double io_us = rate > 0 ? bytes / rate : 0;
    if (pace.SlicesFor(k, begin_us + io_us) < route.plan().width) return false;
  }
  return true;
}

}  // namespace sti
