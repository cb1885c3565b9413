// Random models and devices whose times and sizes are whole numbers, as the yardstick needs them.
#pragma once

#include <algorithm>
#include <cmath>

#include "world.h"

namespace sti::test {

/// A random device in whole microseconds and a random model in whole bytes.
inline World RandomWorld(Random& random, uint32_t most) {
  const uint32_t layers = 1 + random.Below(most);
  const uint32_t width = 1 + random.Below(most);
  World world(layers, width, {2, 3, 4, 5, 6, 32}, {8, 12, 16, 20, 24, 64});
  const uint32_t spread = random.Below(4);
  for (uint64_t& bytes : world.catalog.read_bytes) bytes += random.Below(spread + 1);
  for (size_t at = 1; at < world.catalog.read_bytes.size(); ++at) {
    if (at % 6 != 0) {
      world.catalog.read_bytes[at] =
          std::max(world.catalog.read_bytes[at], world.catalog.read_bytes[at - 1]);
    }
  }
  double layer_us = 1 + random.Below(60);
  world.Compute(1, [&](uint32_t) { return layer_us += random.Below(30); });
  const double unit_us = 1 + random.Below(5);
  const double start_us = random.Below(6);
  world.Io({start_us + 2 * unit_us, start_us + 3 * unit_us, start_us + 4 * unit_us,
            start_us + 5 * unit_us, start_us + 6 * unit_us, start_us + 20 * unit_us});
  world.profile.fixed = {{128, 0, double(random.Below(10)), 0}};
  world.use_importance = random.Below(4) != 0;
  world.importance.layers = layers;
  world.importance.width = width;
  for (uint32_t shard = 0; shard < layers * width; ++shard)
    world.importance.scores.push_back(random.Below(1000));
  return world;
}

/// A target between where the fewest bits of the whole model are in time and where all bits are.
inline double TightTarget(const World& world, Random& random) {
  const auto& profile = world.profile;
  const double shards = world.info.shape.layers * world.info.shape.width;
  const double compute_us = world.info.shape.layers * profile.compute.back().layer_us;
  const double least_us = shards * profile.io.front().load_us;
  const double most_us = shards * profile.io.back().load_us;
  const double share = random.Below(1000) / 1000.0;
  return std::floor(std::max(compute_us, least_us) + profile.fixed[0].embed_io_us + 1 +
                    share * share * (most_us - least_us));
}

}  // namespace sti::test
