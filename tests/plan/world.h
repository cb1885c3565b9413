// Models and devices for the planner's tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/planner.h"

namespace sti::test {

inline Digest Model() {
  Digest model;
  model.bytes[0] = 1;
  return model;
}

/// Returns an input that a test made without fault, as checked.
inline CheckedInput Checked(const PlanInput& input) { return *CheckedInput::Make(input); }

/// Everything MakePlan takes, owned in one place. An elastic model of N x M shards.
struct World {
  ModelInfo info;
  ShardCatalog catalog;
  DeviceProfile profile;
  Importance importance;
  bool use_importance = false;
  std::vector<uint32_t> common_words;
  uint32_t row_bytes = 0;             ///< of a word that is preloaded
  uint64_t fallback_token_bytes = 0;  ///< rows that a fallback holds for each token

  World(uint32_t layers, uint32_t width, std::vector<uint32_t> bits, std::vector<uint64_t> bytes) {
    info.shape = {layers, width, width * 8, width * 16, 100, 512, 2, 2};
    info.elastic = true;
    info.min_width = 1;
    catalog.layers = layers;
    catalog.width = width;
    catalog.bits = std::move(bits);
    for (uint32_t shard = 0; shard < layers * width; ++shard)
      catalog.read_bytes.insert(catalog.read_bytes.end(), bytes.begin(), bytes.end());
  }

  /// T_comp of each width from `least` to M, in microseconds, at length 128.
  void Compute(uint32_t least, const std::function<double(uint32_t)>& layer_us) {
    for (uint32_t m = least; m <= info.shape.width; ++m)
      profile.compute.push_back({128, m, layer_us(m), layer_us(m), 0});
  }
  /// How long layers of `width` take as the last one.
  void Last(uint32_t width, double last_us) {
    for (ComputeSample& sample : profile.compute) {
      if (sample.width == width) sample.last_us = last_us;
    }
  }
  /// T_io of each stored bitwidth, in microseconds.
  void Io(const std::vector<double>& load_us) {
    for (size_t level = 0; level < load_us.size(); ++level)
      profile.io.push_back({0, catalog.bits[level], load_us[level], load_us[level]});
  }
  /// Working memory as a real model has it, roughly: rows of hidden and inner numbers a token.
  [[nodiscard]] MemoryBeforeShards memory() const {
    return {profile.process_bytes,
            0,
            row_bytes,
            [shape = info.shape](const PlanExtent& extent) {
              const uint64_t floats = uint64_t{2} * shape.hidden + uint64_t{4} * extent.width * 64;
              return extent.tokens * (floats * sizeof(float) + 4096);
            },
            nullptr,
            nullptr,
            [bytes = fallback_token_bytes](uint32_t tokens) { return tokens * bytes; }};
  }
  [[nodiscard]] PlanInput input() const {
    return {info,     catalog, profile,     use_importance ? &importance : nullptr, Model(), {},
            memory(), nullptr, common_words};
  }
  /// Importance that tells all shards apart, with A(n, m) at the fewest and the most bits.
  void MeasureSubmodels() {
    use_importance = true;
    const uint32_t depth = importance.layers = catalog.layers;
    const uint32_t width = importance.width = catalog.width;
    for (uint32_t shard = 0; shard < depth * width; ++shard)
      importance.scores.push_back(shard * 7 % (depth * width));
    for (uint32_t n = 1; n <= depth; ++n) {
      for (uint32_t m = 1; m <= width; ++m) {
        const double size = std::sqrt(n * std::sqrt(m * 1.0));
        importance.submodels.push_back({n, m, catalog.bits.front(), 0.5 + 0.10 * size, 1.2 / size});
        importance.submodels.push_back({n, m, catalog.bits.back(), 0.6 + 0.12 * size, 1.0 / size});
      }
    }
  }
  [[nodiscard]] CheckedInput checked() const { return Checked(input()); }
};

inline constexpr uint64_t kKilo = 1000;

/// Rough figures of the paper's platforms (STI Table 2). The paper prints no T_io: these are made
/// up, near what its bandwidths allow (conformance_test.cpp searches what gives its rows).
inline World Odroid() {
  World world(12, 12, {2, 3, 4, 5, 6, 32},
              {150 * kKilo, 225 * kKilo, 300 * kKilo, 375 * kKilo, 450 * kKilo, 2360 * kKilo});
  world.Compute(3, [](uint32_t m) { return 13000.0 * m; });
  world.Io({1100, 1600, 2100, 2600, 3100, 13500});
  return world;
}
inline World Jetson() {
  World world(12, 12, {2, 3, 4, 5, 6, 32},
              {150 * kKilo, 225 * kKilo, 300 * kKilo, 375 * kKilo, 450 * kKilo, 2360 * kKilo});
  world.Compute(1, [](uint32_t) { return 54500.0; });
  world.Io({1600, 2500, 3300, 4100, 4900, 26000});
  return world;
}

/// Returns a request for a plan within `target_us`.
inline PlanRequest RequestFor(double target_us, Strategy strategy = Strategy::kSti) {
  PlanRequest request;
  request.strategy = strategy;
  request.target_us = target_us;
  return request;
}

/// Small and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint32_t Below(uint32_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % bound);
  }

 private:
  uint64_t state_;
};

/// An event simulator that shares no code with the planner: each step of one microsecond moves
/// both lanes. Times are whole microseconds; the last layer takes `last_us`. Returns when the label
/// is there.
inline int64_t SimulateEvents(const std::vector<std::vector<int64_t>>& layer_loads_us,
                              int64_t layer_us, int64_t last_us, int64_t embed_io_us,
                              int64_t* stalls) {
  struct Load {
    size_t layer;
    int64_t left;
  };
  std::vector<Load> queue;
  std::vector<size_t> missing(layer_loads_us.size());
  for (size_t k = 0; k < layer_loads_us.size(); ++k) {
    for (int64_t load_us : layer_loads_us[k]) {
      if (load_us == 0) continue;
      queue.push_back({k, load_us});
      ++missing[k];
    }
  }
  size_t head = 0;
  size_t layer = 0;
  int64_t computing = 0;
  int64_t now = 0;
  *stalls = 0;
  while (true) {
    if (computing == 0 && layer < missing.size() && now >= embed_io_us && missing[layer] == 0)
      computing = layer + 1 < missing.size() ? layer_us : last_us;
    if (layer == missing.size()) return now;
    if (computing == 0) ++*stalls;
    if (now >= embed_io_us && head < queue.size() && --queue[head].left == 0) {
      --missing[queue[head].layer];
      ++head;
    }
    ++now;
    if (computing > 0 && --computing == 0) ++layer;
  }
}

}  // namespace sti::test
