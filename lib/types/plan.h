#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"

namespace sti {

/// The bits that mean full fidelity, value-exact in the source's type.
inline constexpr uint32_t kFullBits = 32;

struct PreloadedShard {
  uint32_t layer = 0;  ///< original layer index
  uint32_t slice = 0;
  uint32_t bits = 0;
  friend bool operator==(const PreloadedShard&, const PreloadedShard&) = default;
};

/// Which submodel runs, each shard's bits, and what stays in memory (STI 5).
/// Plain data, safe to share between threads while nobody writes.
struct Plan {
  Digest model;
  Digest shape;
  std::string strategy;
  uint32_t length = 0;                        ///< input length planned for, in tokens
  std::vector<uint32_t> layers;               ///< original indexes executed, in order; n entries
  uint32_t width = 0;                         ///< m
  std::vector<std::vector<uint32_t>> slices;  ///< [n][m] stored slice indexes
  std::vector<std::vector<uint32_t>> bits;    ///< [n][m]
  std::vector<PreloadedShard> preload;        ///< a prefix of the shards in layer order
  uint64_t preload_bytes = 0;                 ///< bytes the preloaded shards occupy
  std::vector<double> aib_us;                 ///< [n] left over; empty where the strategy has none
  std::optional<double> slack_us;
  std::optional<double> target_us;
  bool meets_target = true;
  double predicted_latency_us = 0;  ///< by medians
  double predicted_p99_us = 0;
  uint64_t predicted_peak_bytes = 0;
  std::optional<double> predicted_accuracy;
  uint64_t parameter_bytes = 0;  ///< of all shards in the plan, as stored
  std::string kernel;            ///< of the profile it was made with
  std::string read_path;         ///< of the profile it was made with
  std::vector<Plan> variants;    ///< further input lengths
};

}  // namespace sti
