// Plans with a cascade, over the container of pipeline_world.h.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "pipeline/cascade_run.h"
#include "pipeline_world.h"
#include "schedule/load_schedule.h"
#include "types/plan.h"

namespace sti {

/// Rules under which all inputs go on, or none does.
inline constexpr CascadeRule kAllGoOn{.cutoff = 1};
inline constexpr CascadeRule kNoneGoesOn{.cutoff = 0};

class CascadeWorld : public PipelineTest {
 protected:
  /// A plan that runs slices 0 to `width` - 1 of these layers at `bits`.
  [[nodiscard]] Plan Uniform(const std::vector<uint32_t>& layers, uint32_t width,
                             uint32_t bits) const {
    Plan plan = WholeAt(bits);
    RunUniformly(layers, width, bits, &plan);
    return plan;
  }
  /// `last` behind `levels`, all of which have the rule.
  static Plan Cascade(const std::vector<Plan>& levels, Plan last, const CascadeRule& rule) {
    last.cascade.emplace();
    for (const Plan& level : levels) {
      last.cascade->levels.push_back({.plan = level, .temperature = 1, .rule = rule});
      last.cascade->return_share.push_back(0);
    }
    return last;
  }
  /// Three levels that share some layers, slices and planes: the first holds `held` shards.
  [[nodiscard]] Plan Three(const CascadeRule& rule, size_t held = 3) const {
    Plan last = WholeAt(5);
    SetRow(last, 3, {32, 32, 4, 6});
    Plan middle = Uniform({0, 2, 3}, 4, 4);
    SetRow(middle, 2, {32, 6, 3, 2});
    return Cascade({WithPreload(Uniform({0, 2}, 3, 3), held), middle}, last, rule);
  }
  static Plan LevelAlone(const Plan& plan, size_t level) {
    return Plan{PlanOf(plan, CascadeRoute(plan, level))};
  }
  static CascadeInput Text() { return {{kTextIds, kTextTypes}, {}}; }

  /// The answer to one input.
  struct Outcome {
    RunResult run;
    CascadeReport report;
    std::shared_ptr<const LoadSchedule> schedule;  ///< of the level that answered
  };
  static Outcome Ask(Pipeline& pipeline, const RunTerms& terms = {}, uint64_t seed = 0) {
    Outcome outcome;
    EXPECT_TRUE(
        Succeeded(RunCascade(pipeline, Text(), terms, seed, &outcome.run, &outcome.report)));
    outcome.schedule = pipeline.status().schedule;
    return outcome;
  }
  /// Bytes of the shards that stay between inputs.
  [[nodiscard]] uint64_t BytesOf(const std::vector<ShardAtBits>& shards) const {
    return CatalogOf(index_).BytesOfAll(shards);
  }

  /// How often each part was read.
  using Parts = std::map<std::pair<ShardId, PartKind>, int>;
  static void AddParts(const LoadSchedule& schedule, Parts* parts) {
    for (const ScheduledPart& part : schedule.parts) {
      if (part.kind) ++(*parts)[{schedule.requests[part.request].id, *part.kind}];
    }
  }
  static Parts PartsOf(const PlanCore& plan) {
    Parts parts;
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i) {
        for (const PartKind kind : kPartKinds) {
          if (PartSet::For(plan.bits.At(k, i)).Has(kind)) parts[{plan.Id(k, i), kind}] = 1;
        }
      }
    }
    return parts;
  }
  /// Once each, what the first levels of a cascade run.
  static Parts PartsOfLevels(const Plan& plan, size_t levels) {
    Parts parts;
    for (size_t level = 0; level < levels; ++level)
      parts.merge(PartsOf(PlanOf(plan, CascadeRoute(plan, level))));
    return parts;
  }
  /// How often each part was read for one input, whose last level read by `last`.
  static Parts PartsRead(const CascadeReport& report, const LoadSchedule& last) {
    Parts parts;
    for (const CascadeLevelRun& level : report.before()) AddParts(*level.schedule, &parts);
    AddParts(last, &parts);
    return parts;
  }
  static void Remove(const std::vector<ShardAtBits>& shards, Parts* parts) {
    for (const ShardAtBits& shard : shards) {
      for (const PartKind kind : kPartKinds) {
        if (PartSet::For(shard.bits).Has(kind)) parts->erase({shard.id, kind});
      }
    }
  }
};

}  // namespace sti
