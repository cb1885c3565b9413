// A small model of which cascades were measured, on a device whose prices can be computed by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "world.h"

namespace sti::test {

inline CascadeLevelScore Level(uint32_t depth, uint32_t bits, double accuracy,
                               double temperature = 1) {
  CascadeLevelScore level;
  level.depth = depth;
  level.width = 2;
  level.bits = bits;
  level.accuracy = accuracy;
  level.temperature = temperature;
  return level;
}

/// A hard cut of two or three levels that weighs none before the last.
inline CascadeCut Cut(double cutoff, std::vector<double> shares, double accuracy) {
  CascadeCut cut;
  cut.cutoff = cutoff;
  cut.weights.assign(shares.size() - 1, 1.0);
  cut.words_left = cut.weights;
  cut.accuracies.assign(shares.size(), accuracy);
  cut.shares = std::move(shares);
  cut.accuracy = accuracy;
  return cut;
}

/// A model of 2x2 shards at 2 and 6 bits. Shards take 20 us at 2 bits and 60 at 6, layers 5, rows
/// 8, embedding 1, the head 2.
inline World SmallWorld() {
  World world(2, 2, {2, 6}, {100, 300});
  world.catalog.block_bytes = 10;
  world.Compute(1, [](uint32_t) { return 5.0; });
  world.Io({20, 60});
  FixedSample fixed;
  fixed.length = 128;
  fixed.embed_us = 1;
  fixed.embed_io_us = 8;
  fixed.head_us = 2;
  world.profile.fixed = {fixed};
  return world;
}

/// The small model with cascades that were measured. Levels are 1x2 and 2x2 at 2 bits and 2x2 at 6:
/// alone they take 55, 95 and 255 us. Level 0 and then 2 is 55 + 207, 1 and then 2 is 95 + 167, 0
/// and then 1 is 55 + 47.
inline World MeasuredWorld() {
  World world = SmallWorld();
  world.use_importance = true;
  world.importance.metric = Metric::kAccuracy;
  world.importance.layers = world.importance.width = 2;
  world.importance.scores = {4, 3, 2, 1};
  world.importance.cascade_levels = {Level(1, 2, 0.8, 1.25), Level(2, 2, 0.86, 0.5),
                                     Level(2, 6, 0.9, 2)};
  world.importance.cascades = {
      {{0, 2}, 0, {Cut(0.9, {0.5, 0.5}, 0.9), Cut(0.75, {0.75, 0.25}, 0.88)}},
      {{1, 2}, 0, {Cut(0.9, {0.625, 0.375}, 0.91), Cut(0.75, {0.875, 0.125}, 0.89)}},
      {{0, 1}, 0, {Cut(0.9, {0.5, 0.5}, 0.85)}},
      {{0, 1, 2}, 0, {Cut(0.9, {0.5, 0.25, 0.25}, 0.895)}}};
  return world;
}

inline PlanRequest CascadeAsked(double target_us,
                                std::optional<double> min_accuracy = std::nullopt) {
  PlanRequest request;
  request.target_us = target_us;
  request.mode = CascadeWish{};
  request.min_accuracy = min_accuracy;
  return request;
}

/// Returns the levels of a plan with a cascade: "1@2 2@6" is of one layer at 2 bits, then two at 6.
inline std::string NameOf(const Plan& plan) {
  std::string name;
  const auto add = [&](const PlanCore& level) {
    name += (name.empty() ? "" : " ") + std::to_string(level.layers.size()) + "@" +
            std::to_string(level.bits.At(0, 0));
  };
  for (const CascadeLevel& level : plan.cascade->levels) add(level.plan);
  add(plan);
  return name;
}

}  // namespace sti::test
