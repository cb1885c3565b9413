// A plain reference for a pipeline between its runs: what it holds, what it reads for them, and
// which turn comes next, told by sets of parts, without lanes, places or schedules. Random
// sequences are compared with it.
//
// Where a device fails or a deadline passes, nobody can say what has arrived. So a reference knows
// of each shard which parts surely are there and which may be; what the next run reads shows which
// of them are.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "pipeline/pass.h"
#include "pipeline/run_result.h"
#include "schedule/load_schedule.h"

namespace sti {

class ReferenceBuffer {
 public:
  using Shards = std::vector<ShardAtBits>;

  /// The terms that one run, or a lead for it, is given.
  struct Terms {
    RouteId route;
    bool degrade = false;
    std::optional<Shards> keep;
  };

  /// `loaded`: what the plan preloads is there already.
  ReferenceBuffer(const ContainerIndex& index, Plan plan, bool loaded)
      : index_(&index), plan_(std::move(plan)) {
    if (loaded) Load(true);
  }

  [[nodiscard]] uint32_t turn() const {
    return plan_.turns.empty() ? 0 : static_cast<uint32_t>(std::min(runs_, plan_.turns.size() - 1));
  }
  /// Returns the fewest and the most bytes that may be held.
  [[nodiscard]] std::pair<uint64_t, uint64_t> Bytes() const {
    return {BytesOf(surely_), BytesOf(maybe_)};
  }
  /// Returns whether a run on these terms goes on with the reads of the lead.
  [[nodiscard]] bool TakesOver(const Terms& terms) const {
    if (!job_ || !job_->woken) return false;
    return terms.route == RouteId{} && terms.degrade == job_->degrade &&
           KeptAfter(terms) == job_->keep;
  }

  void Wake(bool degrade, const LoadSchedule& schedule) {
    Settle();
    Begin({{}, degrade, {}}, schedule);
    job_->woken = true;
    lead_ = PartsOf(schedule);
  }
  /// A run that went well, or else failed. `trails`: the lane has not settled after it.
  void Ran(const Terms& terms, const LoadSchedule& schedule, bool well,
           const std::vector<DegradedShard>& degraded, bool trails) {
    // A run reads anew what its lead could not read; what of that has come it does not read again.
    if (!TakesOver(terms) || PartsOf(schedule) != lead_) Settle();
    Begin(terms, schedule);
    if (well) {
      job_->surely = job_->maybe;
      for (const DegradedShard& shard : degraded) job_->surely.erase(shard.id);
      if (terms.route == RouteId{}) ++runs_;
    }
    if (!trails) Settle();
  }
  /// `loaded`: no read has failed; else the engagement goes on.
  void EndTurns(bool loaded) {
    Settle();
    const size_t before = std::exchange(runs_, 0);
    KeepOnly(Kept({}, 0));
    Load(loaded);
    if (loaded) return;
    runs_ = before;
    KeepOnly(Kept({}, 0));
  }
  /// Shards are not what is given back.
  void Rest() { Settle(); }
  /// `loaded`: no read has failed; else the bound before stays.
  void Resize(std::optional<uint64_t> bytes, bool loaded) {
    Settle();
    const auto before = std::exchange(limit_, bytes);
    KeepOnly(Kept({}, 0));
    Load(loaded);
    if (loaded) return;
    limit_ = before;
    KeepOnly(Kept({}, 0));
  }
  /// `loaded`: no read has failed; else the old plan and its engagement go on.
  void SetPlan(const Plan& plan, bool loaded) {
    Settle();
    const std::tuple before(plan_, runs_);
    plan_ = plan;
    runs_ = 0;
    KeepOnly(Kept({}, 0));
    Load(loaded);
    if (loaded) return;
    std::tie(plan_, runs_) = before;
    KeepOnly(Kept({}, 0));
  }

 private:
  using Held = std::map<ShardId, PartSet>;
  /// A job that the lane was given and its pipeline has not counted yet.
  struct Job {
    bool woken = false;
    bool degrade = false;
    bool evict = false;
    Shards keep;
    Held surely;  ///< of what is read and stays: what has arrived for certain
    Held maybe;   ///< all of it
  };

  [[nodiscard]] const Grid<uint32_t>& BitsOf(RouteId route) const {
    const bool has_turns = route == RouteId{} && !plan_.turns.empty();
    return has_turns ? plan_.turns[turn()].bits : PlanOf(plan_, route).bits;
  }
  /// The parts that there is a place for: all that the plan or a turn of it runs.
  [[nodiscard]] PartSet PlacedOf(ShardId id) const {
    PartSet placed;
    for (uint32_t k = 0; k < plan_.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan_.width; ++i) {
        if (plan_.Id(k, i) != id) continue;
        placed = placed.With(PartSet::For(plan_.bits.At(k, i)));
        for (const PlanTurn& turn : plan_.turns)
          placed = placed.With(PartSet::For(turn.bits.At(k, i)));
      }
    }
    return placed;
  }
  [[nodiscard]] uint64_t BytesOf(ShardId id, PartSet parts) const {
    std::set<uint64_t> blocks;
    for (const PartKind kind : kPartKinds) {
      const PartLocation& part = index_->shard(id).parts[kind];
      if (!parts.Has(kind)) continue;
      for (uint64_t b = part.offset / kBlockBytes; b * kBlockBytes < part.offset + part.length; ++b)
        blocks.insert(b);
    }
    return blocks.size() * kBlockBytes;
  }
  [[nodiscard]] uint64_t BytesOf(const Held& held) const {
    uint64_t bytes = 0;
    for (const auto& [id, parts] : held) bytes += BytesOf(id, parts);
    return bytes;
  }

  /// Returns the shards held before a run on the route that comes `later` runs from now.
  [[nodiscard]] Shards Kept(RouteId route, size_t later) const {
    if (!(route == RouteId{})) {
      const bool has_room = !limit_ && plan_.turns.empty();
      return has_room ? PlanOf(plan_, route).preload : Shards{};
    }
    if (limit_) return Lowest(*limit_);
    if (plan_.turns.empty()) return plan_.preload;
    return plan_.turns[std::min(runs_ + later, plan_.turns.size() - 1)].preload;
  }
  [[nodiscard]] Shards KeptAfter(const Terms& terms) const {
    return terms.keep ? *terms.keep : Kept(terms.route, 1);
  }
  [[nodiscard]] Shards Lowest(uint64_t bytes) const {
    Shards lowest;
    for (uint32_t k = 0; k < plan_.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan_.width; ++i) {
        const ShardAtBits shard{plan_.Id(k, i), BitsOf({}).At(k, i)};
        const uint64_t more = BytesOf(shard.id, PartSet::For(shard.bits));
        if (more > bytes) return lowest;
        bytes -= more;
        lowest.push_back(shard);
      }
    }
    return lowest;
  }

  void Begin(const Terms& terms, const LoadSchedule& schedule) {
    Held read = ReadsOf(terms.route, schedule);
    Job job;
    job.degrade = terms.degrade;
    job.keep = KeptAfter(terms);
    job.evict = terms.keep || terms.route == RouteId{};
    for (const ShardAtBits& shard : job.keep) {
      job.maybe[shard.id] =
          read[shard.id].Within(PartSet::For(shard.bits)).Within(PlacedOf(shard.id));
    }
    job_ = job;
  }
  /// The parts that a schedule reads.
  static Held PartsOf(const LoadSchedule& schedule) {
    Held read;
    for (const ScheduledPart& part : schedule.parts) {
      if (!part.kind) continue;
      PartSet& parts = read[schedule.requests[part.request].id];
      parts = parts.With(*part.kind);
    }
    return read;
  }
  /// The parts that a schedule reads: just those that are missing.
  Held ReadsOf(RouteId route, const LoadSchedule& schedule) {
    Held read = PartsOf(schedule);
    const PlanCore& plan = PlanOf(plan_, route);
    EXPECT_EQ(schedule.requests.size(), plan.layers.size() * plan.width);
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i) {
        const ShardId id = plan.Id(k, i);
        const PartSet wanted = PartSet::For(BitsOf(route).At(k, i));
        const PartSet held = wanted.Without(read[id]);
        EXPECT_TRUE(wanted.Has(read[id])) << NameOf(id) << " reads what the run does not need";
        EXPECT_TRUE(maybe_[id].Has(held)) << NameOf(id) << " lacks what is not held";
        EXPECT_TRUE(surely_[id].Within(read[id]).empty()) << NameOf(id) << " is held and is read";
        surely_[id] = surely_[id].With(held);
        maybe_[id] = maybe_[id].Without(read[id]);
      }
    }
    return read;
  }
  void Settle() {
    if (!job_) return;
    for (const auto& [id, parts] : job_->maybe) maybe_[id] = maybe_[id].With(parts);
    for (const auto& [id, parts] : job_->surely) surely_[id] = surely_[id].With(parts);
    if (job_->evict) KeepOnly(job_->keep);
    job_.reset();
  }
  /// Reads ahead the shards that the routes begin with, or, after an error, some of them.
  void Load(bool well) {
    for (RouteId route; route.index <= plan_.variants.size(); ++route.index) {
      for (const ShardAtBits& shard : Kept(route, 0)) {
        const PartSet parts = PartSet::For(shard.bits);
        maybe_[shard.id] = maybe_[shard.id].With(parts);
        if (well) surely_[shard.id] = surely_[shard.id].With(parts);
      }
    }
  }
  void KeepOnly(const Shards& shards) {
    Held kept;
    for (const ShardAtBits& shard : shards) kept[shard.id] = PartSet::For(shard.bits);
    for (Held* held : {&surely_, &maybe_}) {
      for (auto& [id, parts] : *held) parts = parts.Within(kept[id]);
    }
  }

  const ContainerIndex* index_;
  Plan plan_;
  size_t runs_ = 0;  ///< under the plan itself since its first turn
  std::optional<uint64_t> limit_;
  Held surely_;
  Held maybe_;
  std::optional<Job> job_;
  Held lead_;  ///< what the last wake has begun to read
};

}  // namespace sti
