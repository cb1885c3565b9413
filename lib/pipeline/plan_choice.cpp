#include "pipeline/plan_choice.h"

#include <limits>
#include <map>

namespace sti {
namespace {

// Planned for this clock or a slower one comes before planned for a faster one.
bool Suits(const Plan& a, const Plan& b, uint64_t clock_khz) {
  const bool a_keeps_up = a.freq <= clock_khz;
  const bool b_keeps_up = b.freq <= clock_khz;
  if (a_keeps_up != b_keeps_up) return a_keeps_up;
  return a_keeps_up ? a.freq > b.freq : a.freq < b.freq;
}

}  // namespace

std::vector<RouteId> RoutesAtClock(const Plan& plan, uint64_t clock_khz) {
  const uint64_t clock = clock_khz != 0 ? clock_khz : std::numeric_limits<uint64_t>::max();
  std::map<uint32_t, RouteId> by_length{{plan.length, RouteId{}}};
  for (RouteId id{1}; id.index <= plan.variants.size(); ++id.index) {
    const Plan& variant = PlanOf(plan, id);
    RouteId& chosen = by_length.emplace(variant.length, id).first->second;
    if (Suits(variant, PlanOf(plan, chosen), clock)) chosen = id;
  }
  std::vector<RouteId> routes;
  routes.reserve(by_length.size());
  for (const auto& [length, chosen] : by_length) routes.push_back(chosen);
  return routes;
}

}  // namespace sti
