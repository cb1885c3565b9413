#include "pipeline/core/engagement.h"

#include <algorithm>
#include <utility>

#include "pipeline/routes.h"

namespace sti {

Engagement::Engagement(const Plan& plan, RouteId main, BytesOf bytes_of)
    : plan_(&plan), main_(main), bytes_of_(std::move(bytes_of)) {
  for (size_t level = 0; level < CascadeLevelsOf(plan); ++level)
    handed_on_.push_back(HandedOn(plan, level));
}

size_t Engagement::turn() const {
  return plan_->turns.empty() ? 0 : std::min(turn_, plan_->turns.size() - 1);
}

const Grid<uint32_t>& Engagement::BitsOf(RouteId route) const {
  const bool has_turns = route == RouteId{} && !plan_->turns.empty();
  return has_turns ? plan_->turns[turn()].bits : PlanOf(*plan_, route).bits;
}

std::span<const ShardAtBits> Engagement::KeptBefore(RouteId route) { return KeptAt(route, turn_); }

std::span<const ShardAtBits> Engagement::KeptAfter(RouteId route) {
  return plan_->cascade ? KeptForLater(route) : KeptAt(route, turn_ + 1);
}

std::span<const ShardAtBits> Engagement::KeptAt(RouteId route, size_t turn) {
  if (plan_->cascade) return limit_ ? KeptWithin(*limit_, main_) : PlanOf(*plan_, main_).preload;
  const bool is_plan = route == RouteId{};
  if (limit_ && (is_plan || route == main_)) return KeptWithin(*limit_, route);
  // A variant's part of what the plan itself preloads; turns may have other use for the room.
  if (!is_plan && (limit_ || !plan_->turns.empty())) return {};
  if (plan_->turns.empty()) return PlanOf(*plan_, route).preload;
  return plan_->turns[std::min(turn, plan_->turns.size() - 1)].preload;
}

// Returns what stays between inputs, and what the levels behind this one run of what is there.
std::span<const ShardAtBits> Engagement::KeptForLater(RouteId route) {
  const std::vector<ShardAtBits>& handed_on = handed_on_[CascadeLevelOf(*plan_, route)];
  const std::span<const ShardAtBits> between = KeptBetween();
  for_later_.assign(between.begin(), between.end());
  for_later_.insert(for_later_.end(), handed_on.begin(), handed_on.end());
  return for_later_;
}

// As many shards from the bottom layer up as the bound holds.
std::span<const ShardAtBits> Engagement::KeptWithin(uint64_t bytes, RouteId route) {
  const PlanCore& plan = PlanOf(*plan_, route);
  const Grid<uint32_t>& bits = BitsOf(route);
  uint64_t used = 0;
  within_limit_.clear();
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardAtBits shard{plan.Id(k, i), bits.At(k, i)};
      used += bytes_of_(shard);
      if (used > bytes) return within_limit_;
      within_limit_.push_back(shard);
    }
  }
  return within_limit_;
}

void Engagement::NoteRun(RouteId route, KeptBy kept_by) {
  kept_by_ = kept_by;
  if (route == RouteId{}) ++turn_;
}

}  // namespace sti
