#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"

namespace sti {

/// Which shards matter: the table of STI 5.2, one score a shard.
struct Importance {
  Digest model;
  std::string metric;  ///< "accuracy", "loss" or "kl"
  uint64_t examples = 0;
  double baseline = 0;         ///< the metric with every shard at its fewest bits
  uint32_t layers = 0;         ///< N
  uint32_t width = 0;          ///< M
  std::vector<double> scores;  ///< [layers, width] row-major; higher is more important
  std::vector<double> losses;  ///< [layers, width] mean loss; breaks ties of scores. May be empty
  double standard_error = 0;   ///< of a score
  std::string kernel;          ///< arithmetic that made it
};

}  // namespace sti
