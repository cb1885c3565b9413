// Plans of each mode for one tiny model, and others that it refuses: the plans that a walk through
// sti.h gives (walk_test.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capi/sti.h"
#include "format/container_index.h"
#include "format/plan_file.h"
#include "pipeline/whole_plan.h"
#include "support/plans.h"
#include "types/kernel.h"
#include "types/plan.h"

namespace sti {

/// A plan's file, and what a reference has to know of it.
struct WalkPlan {
  std::string name;
  std::string bytes;
  sti_code code = STI_OK;    ///< that giving it has, under the options that it starts with
  size_t turns = 1;          ///< that differ
  bool can_degrade = false;  ///< it has a target and times
  bool guaranteed = false;
  std::optional<ComputeType> computes = {};  ///< its kernel says
};

/// Makes them for a container whose model has at least 5 layers of 4 slices.
class WalkPlans {
 public:
  /// A guaranteed run whose reads hang gives up after so long.
  static constexpr double kPatience_us = 200e3;
  /// Whoever shares the machine may hold a run up for so long without making it late.
  static constexpr double kMargin_us = 60e6;

  explicit WalkPlans(const ContainerIndex& index) : index_(index) {}

  [[nodiscard]] std::vector<WalkPlan> All() const {
    std::vector<WalkPlan> plans;
    const auto add = [&](const std::string& name, const Plan& plan) {
      const std::vector<uint8_t> binary = EncodePlan(plan);
      const bool json = plans.size() % 2 == 0;  // both spellings
      plans.push_back({name, json ? PlanToJson(plan) : std::string(binary.begin(), binary.end()),
                       STI_OK, std::max<size_t>(1, plan.turns.size()),
                       plan.agents == 0 && plan.target_us && plan.times, plan.fallback.has_value(),
                       plan.kernel.type});
    };
    add("whole", Whole(4));
    add("preload", WithPreload(InTime(Whole(5)), 6));
    add("words", Words(WithPreload(InTime(Narrow()), 3)));
    add("turns", Turns(Words(WithPreload(InTime(Whole(2)), 2))));
    add("lengths", Lengths(WithPreload(InTime(Whole(3)), 5)));
    add("clocks", Clocks(WithPreload(InTime(Whole(3)), 5)));
    add("cascade of two", Cascade(InTime(Whole(6)), {WithPreload(InTime(Narrow()), 4)}));
    add("cascade of three",
        Cascade(Words(InTime(Whole(32))), {WithPreload(InTime(Narrow()), 2), InTime(Whole(2))}));
    Plan cold = InTime(Whole(3));
    cold.cold = true;
    add("cold", cold);
    add("agents", Agents(3, WithPreload(InTime(Whole(6)), 2)));
    add("agents lengths", Agents(7, Lengths(WithPreload(InTime(Whole(32)), 1))));
    Plan files = WithPreload(InTime(Whole(5)), 2);
    files.read_streams = 4;
    files.read_depth = 2;
    add("open files", files);
    Plan int8 = WithPreload(InTime(Whole(4)), 3);
    int8.kernel = ParseKernel("other-int8");
    add("int8", int8);
    add("guaranteed", Guaranteed(Words(WithPreload(InTime(Whole(5)), 3))));
    add("guaranteed lengths", Guaranteed(Lengths(WithPreload(InTime(Whole(4)), 2))));
    add("guaranteed clocks", Guaranteed(Clocks(InTime(Whole(4)))));
    AddRefused(plans);
    return plans;
  }

 private:
  static void AddRefused(std::vector<WalkPlan>& plans) {
    std::string cut = plans[1].bytes;
    cut.resize(cut.size() / 2);
    plans.push_back({"cut", cut, STI_DAMAGED});
    std::string foreign = plans[0].bytes;
    const size_t digest = foreign.find("\"model\"");
    const size_t digit = foreign.find('"', foreign.find(':', digest)) + 1;
    foreign[digit] = foreign[digit] == 'a' ? 'b' : 'a';
    plans.push_back({"foreign", foreign, STI_FOREIGN});
    plans.push_back({"empty", "", STI_FOREIGN});
  }

  [[nodiscard]] Plan Whole(uint32_t bits) const {
    WholePlanOptions options;
    options.bits = bits;
    return *MakeWholePlan(index_, options);
  }
  /// Three layers of two slices each.
  [[nodiscard]] Plan Narrow() const {
    Plan plan = Whole(3);
    const uint32_t layers[] = {0, 2, 3};
    RunUniformly(layers, 2, 3, &plan);
    return plan;
  }
  /// Layers that so many agents read.
  static Plan Agents(uint32_t agents, Plan plan) {
    plan.strategy = Strategy::kPipeload;
    plan.agents = agents;
    for (PlanCore& variant : plan.variants) variant.agents = agents;
    return plan;
  }
  static Plan InTime(Plan plan) {
    plan.target_us = kMargin_us + kPatience_us;
    plan = Timed(std::move(plan), 1000, 1000);
    plan.predicted_latency_us = 6000;
    plan.predicted_p99_us = 7000;
    return plan;
  }
  static Plan Words(Plan plan) {
    plan.words = {2, 3, 5, 7, 9};
    return plan;
  }
  /// Each turn has a plane more than the one before, and keeps two shards more.
  static Plan Turns(Plan plan) {
    plan.turns.resize(3);
    for (size_t t = 0; t < plan.turns.size(); ++t) {
      PlanTurn& turn = plan.turns[t];
      turn.bits = plan.bits;
      for (uint32_t& bits : turn.bits.values()) bits += static_cast<uint32_t>(t);
      for (size_t i = 0; i < plan.preload.size() + 2 * t; ++i) {
        const auto k = static_cast<uint32_t>(i) / plan.width;
        const auto slice = static_cast<uint32_t>(i) % plan.width;
        const size_t before = t == 0 ? 0 : t - 1;
        turn.preload.push_back({plan.Id(k, slice), plan.turns[before].bits.At(k, slice)});
      }
    }
    return plan;
  }
  /// A variant for short inputs, which runs half of the layers.
  static Plan Lengths(Plan plan) {
    Plan half = plan;
    const std::vector<uint32_t> layers(plan.layers.begin(),
                                       plan.layers.begin() + (plan.layers.size() + 1) / 2);
    RunUniformly(layers, plan.width, plan.bits.At(0, 0), &half);
    half.times->layer_io_us.resize(layers.size());
    half.length = 6;
    half.preload.clear();
    half.preload = plan.preload;
    std::erase_if(half.preload, [&](const ShardAtBits& shard) {
      return std::find(layers.begin(), layers.end(), shard.id.layer) == layers.end();
    });
    plan.variants = {half};
    return plan;
  }
  /// At half the clock, half of the slices.
  static Plan Clocks(Plan plan) {
    plan.freq = 2'000'000;
    Plan slow = plan;
    slow.freq = 1'000'000;
    RunUniformly(plan.layers, plan.width / 2, plan.bits.At(0, 0), &slow);
    std::erase_if(slow.preload,
                  [&](const ShardAtBits& shard) { return shard.id.slice >= plan.width / 2; });
    plan.variants = {slow};
    return plan;
  }
  static Plan Cascade(Plan last, const std::vector<Plan>& levels) {
    last.cascade.emplace();
    for (const Plan& level : levels) {
      Plan own = level;
      own.target_us = last.target_us;
      last.cascade->levels.push_back(
          {.plan = own,
           .temperature = 1.5,
           .rule = {.cutoff = 0.45, .prune_alpha = 0.8, .ensemble_weight = 0.3}});
      last.cascade->return_share.push_back(0.5);
    }
    return last;
  }
  static Plan Guaranteed(Plan plan) {
    const auto guarantee = [](PlanCore& one) {
      one.fallback = FallbackOf({one.layers[0], one.layers[1]}, 2, 2, kMargin_us);
    };
    guarantee(plan);
    for (PlanCore& variant : plan.variants) guarantee(variant);
    return plan;
  }

  const ContainerIndex& index_;
};

}  // namespace sti
