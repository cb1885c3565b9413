// Plans drawn at random for a model: plain ones and such with variants, turns, words, a fallback or
// a cascade, at any bits and with any buffer.
#pragma once

#include <algorithm>
#include <vector>

#include "model/memory.h"
#include "pipeline/whole_plan.h"
#include "support/expect.h"
#include "support/plans.h"
#include "support/random.h"
#include "types/shard_id.h"

namespace sti {

class AnyPlan {
 public:
  AnyPlan(const ContainerIndex& index, TestRandom& random) : index_(index), random_(random) {}

  Plan Draw() {
    Plan plan = AnySubmodel(1);
    if (Chance(2)) plan.target_us = kNoHaste_us;
    if (Chance(2)) AddWords(plan);
    if (Chance(3)) {
      AddCascade(plan);
    } else {
      Preload(plan, Below(7));
      if (Chance(3)) AddTurns(plan);
      if (Chance(3)) AddVariant(plan);
      if (plan.turns.empty() && Chance(3)) AddFallback(plan);
    }
    return plan;
  }

 private:
  static constexpr double kNoHaste_us = 600e6;

  uint32_t Below(uint64_t limit) { return static_cast<uint32_t>(random_.Below(limit)); }
  bool Chance(uint64_t of) { return Below(of) == 0; }

  /// Its first layers, and any bits.
  Plan AnySubmodel(uint32_t least_depth) {
    const ModelShape& shape = index_.info.shape;
    auto plan = MakeWholePlan(index_, {});
    EXPECT_TRUE(Succeeded(plan));
    std::vector<uint32_t> layers(least_depth + Below(shape.layers - least_depth + 1));
    for (uint32_t k = 0; k < layers.size(); ++k) layers[k] = k;
    RunUniformly(layers, 1 + Below(shape.width), 2, &*plan);
    for (uint32_t& bits : plan->bits.values()) bits = index_.bits[Below(index_.bits.size())];
    return Timed(*plan, 1000, 100);
  }
  void Preload(PlanCore& plan, size_t count) {
    plan = WithPreload(plan, count);
    plan.preload_bytes += CatalogOf(index_).BytesOfAll(plan.preload);
  }
  void AddWords(Plan& plan) {
    for (uint32_t word = 0; word < index_.info.shape.vocabulary; ++word) {
      if (Chance(3)) plan.words.push_back(word);
    }
    plan.preload_bytes = plan.words.size() * index_.words.row_bytes;
  }
  /// Turns that run more and more bits, and keep any shards of the turn before.
  void AddTurns(Plan& plan) {
    const uint64_t row_bytes = plan.words.size() * index_.words.row_bytes;
    plan.turns.resize(2 + Below(2));
    PlanTurn last;
    last.bits = plan.bits;
    last.preload = plan.preload;
    last.preload_bytes = plan.preload_bytes;
    Plan kept = plan;
    for (PlanTurn& turn : plan.turns) {
      turn = last;
      plan.turn_bytes = std::max(plan.turn_bytes.value_or(0), turn.preload_bytes);
      kept.bits = turn.bits;
      kept.preload.clear();
      kept.preload_bytes = row_bytes;
      Preload(kept, Below(9));
      last.preload = kept.preload;
      last.preload_bytes = kept.preload_bytes;
      for (uint32_t& bits : last.bits.values()) bits = bits < 6 ? bits + Below(2) : bits;
    }
  }
  /// One for short texts, of any submodel and any bits, but for what the plan preloads of it.
  void AddVariant(Plan& plan) {
    Plan variant = AnySubmodel(1);
    variant.target_us = plan.target_us;
    for (const ShardAtBits& shard : plan.preload) {
      if (shard.id.layer >= variant.layers.size() || shard.id.slice >= variant.width) continue;
      variant.bits.At(shard.id.layer, shard.id.slice) = shard.bits;
      variant.preload.push_back(shard);
    }
    variant.preload_bytes = CatalogOf(index_).BytesOfAll(variant.preload);
    variant.length = 5;
    plan.variants = {variant};
  }
  void AddFallback(Plan& plan) {
    const auto add = [&](PlanCore& one) {
      one.target_us = kNoHaste_us;
      one.fallback = FallbackOf({0}, 1, index_.bits.front(), 1000);
    };
    add(plan);
    for (PlanCore& variant : plan.variants) add(variant);
  }
  void AddCascade(Plan& plan) {
    plan.cascade.emplace();
    for (uint32_t before = 1 + Below(2); before > 0; --before) {
      CascadeLevel level{.plan = AnySubmodel(1)};
      level.temperature = 0.5 + Below(3);
      level.rule.cutoff = Chance(3) ? 0.5 : 1;
      if (Chance(2)) level.rule.ensemble_weight = 0.3;
      if (Chance(2)) level.rule.prune_alpha = 0.8;
      if (plan.cascade->levels.empty()) Preload(level.plan, Below(5));
      plan.cascade->levels.push_back(level);
      plan.cascade->return_share.push_back(0.3);
    }
    if (Chance(2)) plan.cascade->path_us.assign(plan.cascade->levels.size() + 1, 100);
  }

  const ContainerIndex& index_;
  TestRandom& random_;
};

}  // namespace sti
