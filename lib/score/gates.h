// A gate is a bound on one number of an evaluation that a user sets, such as continuous integration
// that must not let a worse model pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "score/evaluation.h"

namespace sti {

/// The number that a gate bounds.
enum class Gate : uint8_t {
  kAccuracy,    ///< share of examples that are right
  kP99,         ///< the latency's 99th percentile
  kMemory,      ///< of the process, at its peak
  kInputBytes,  ///< read for an input, on average
  kMisses,      ///< answers after the target
  kDrop,        ///< fall of accuracy below the baseline's
};

/// Holds the bounds that a user sets; a number may reach its bound.
struct Gates {
  std::optional<double> min_accuracy = {};        ///< share of examples that are right
  std::optional<double> max_p99_us = {};          ///< bound of the latency's 99th percentile
  std::optional<uint64_t> max_memory_bytes = {};  ///< of the process, at its peak
  std::optional<uint64_t> max_input_bytes = {};   ///< read for an input, on average
  std::optional<uint64_t> max_misses = {};        ///< answers after the target
  /// Share of examples by which accuracy may be below the baseline's. A larger fall passes too if
  /// it may be chance, by McNemar's exact test at 5 %.
  std::optional<double> max_drop = {};
};

/// Returns the gates that the evaluation does not pass, in the order of Gate. An evaluation without
/// examples passes all.
std::vector<Gate> FailedGates(const Evaluation& evaluation, const Gates& gates);

}  // namespace sti
