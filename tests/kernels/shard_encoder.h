// Makes shards for tests: codes into planes, outliers into blocks. Slow and plain on purpose.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "base/half.h"
#include "kernels/decode.h"
#include "types/bits.h"
#include "types/plan.h"

namespace sti::testing {

/// A shard that owns what its view points to, and the weights that it stands for.
struct TestShard {
  std::vector<AlignedBuffer> planes;
  std::vector<float> centroids;
  std::vector<uint32_t> block_starts;
  std::vector<uint16_t> lows;
  std::vector<uint8_t> values;
  std::vector<float> scales;
  std::vector<float> weights;  ///< weight order
  ShardView view;
};

/// Appends `value` in `type`; gives back what a reader will see.
inline float AppendValue(float value, DataType type, std::vector<uint8_t>* bytes) {
  const size_t at = bytes->size();
  bytes->resize(at + BytesOf(type));
  if (type == DataType::kF32) {
    std::memcpy(bytes->data() + at, &value, 4);
    return value;
  }
  const bool half = type == DataType::kF16;
  const uint16_t bits = half ? FloatToHalf(value) : FloatToBFloat(value);
  std::memcpy(bytes->data() + at, &bits, 2);
  return half ? HalfToFloat(bits) : BFloatToFloat(bits);
}

inline void AddOutliers(uint64_t count, double share, std::mt19937& random, TestShard* shard,
                        float largest = 1) {
  std::uniform_real_distribution<float> uniform(-largest, largest);
  std::bernoulli_distribution chosen(share);
  const uint64_t blocks = (count + 65535) / 65536;
  for (uint64_t block = 0; block < blocks; ++block) {
    shard->block_starts.push_back(static_cast<uint32_t>(shard->lows.size()));
    for (uint64_t i = block * 65536; i < count && i < (block + 1) * 65536; ++i) {
      if (!chosen(random)) continue;
      for (AlignedBuffer& plane : shard->planes) {
        plane.data()[i / 8] &= static_cast<uint8_t>(~(1U << (i % 8)));  // code 0, as writers do
      }
      shard->lows.push_back(static_cast<uint16_t>(i % 65536));
      shard->weights[i] = AppendValue(uniform(random), shard->view.type, &shard->values);
    }
  }
  shard->block_starts.push_back(static_cast<uint32_t>(shard->lows.size()));
  shard->view.outliers = {
      .count = static_cast<uint32_t>(shard->lows.size()),
      .blocks = static_cast<uint32_t>(blocks),
      .block_starts = reinterpret_cast<const uint8_t*>(shard->block_starts.data()),
      .lows = reinterpret_cast<const uint8_t*>(shard->lows.data()),
      .values = shard->values.data()};
}

/// `count` random weights of about `spread` at `bits` (2..6 or kFullBits).
inline TestShard MakeShard(uint64_t count, uint32_t bits, DataType type, double outlier_share,
                           float spread, uint32_t seed, float largest_outlier = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, spread);
  TestShard shard;
  shard.view.bits = bits;
  shard.view.type = type;
  shard.weights.resize(count);
  if (bits == kFullBits) {
    for (float& w : shard.weights) w = AppendValue(normal(random), type, &shard.values);
    shard.view.full = shard.values.data();
    return shard;
  }
  for (uint32_t i = 0; i < 1U << bits; ++i) shard.centroids.push_back(normal(random));
  for (uint32_t p = 0; p < bits; ++p) {
    shard.planes.emplace_back(RoundUp((count + 7) / 8, 64));
    // The bits past the last weight must not matter, so they are not all zero.
    std::memset(shard.planes[p].data(), 0xA5, shard.planes[p].size());
    shard.view.planes[p] = shard.planes[p].data();
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto code = static_cast<uint32_t>(random() >> 7) & ((1U << bits) - 1);
    for (uint32_t p = 0; p < bits; ++p) {
      uint8_t& byte = shard.planes[p].data()[i / 8];
      const uint32_t bit = code >> (bits - 1 - p) & 1;
      byte = static_cast<uint8_t>((byte & ~(1U << (i % 8))) | bit << (i % 8));
    }
    shard.weights[i] = shard.centroids[code];
  }
  shard.view.centroids = shard.centroids.data();
  if (outlier_share > 0) AddOutliers(count, outlier_share, random, &shard, largest_outlier);
  return shard;
}

/// Weight (out, in) of a matrix, by the definition of weight order.
inline float WeightAt(const TestShard& shard, const ShardMatrix& matrix, uint32_t out,
                      uint32_t in) {
  const uint32_t panel = out / kPanelWidth;
  const uint32_t begin = panel * kPanelWidth;
  const uint32_t width = matrix.outs - begin < kPanelWidth ? matrix.outs - begin : kPanelWidth;
  const uint64_t at = matrix.first + uint64_t{begin} * matrix.ins + uint64_t{in} * width;
  return shard.weights[at + out - begin];
}

}  // namespace sti::testing
