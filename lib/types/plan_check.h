// Checks whether a plan keeps the rules of spec/plan.md, and whether a certain model can run it.
// Whoever reads a plan, judges it, runs it, or stores what it reads asks here, each with the
// *bounds* that it knows: a file of a plan is held to the limits of the format, a run of it to what
// its container holds. What only a device profile tells (times) and what a run decides (precision)
// is not asked.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/result.h"
#include "types/limits.h"
#include "types/model_info.h"
#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// The bounds of what a plan may name. The defaults are the limits of the format.
struct PlanBounds {
  uint32_t layers = kMaxLayers;          ///< N
  uint32_t width = kMaxWidth;            ///< M
  uint32_t least_length = 1;             ///< fewest tokens of an input
  uint32_t most_length = kMaxLength;     ///< most tokens of an input
  uint32_t vocabulary = kMaxVocabulary;  ///< V
  bool takes_context = true;             ///< texts may go on
  bool takes_batch = true;               ///< inputs may run together
  Digest model;                          ///< model that the plan is for; empty: any
  /// Returns whether a shard is stored at these bits, of an id within layers and width. Empty: all
  /// are.
  std::function<bool(const ShardAtBits&)> holds = nullptr;
};

/// Returns the bounds of a model, of which every shard is stored.
PlanBounds BoundsOf(const ModelInfo& info);

/// A rule that a plan breaks.
struct PlanFault {
  /// kDamaged: no model can run the plan. kForeign: it is for another model, or for more than the
  /// bounds have.
  ErrorKind kind = ErrorKind::kDamaged;
  std::string place;  ///< "turns[2]", "variants[0]"; empty: the plan itself
  std::string what;   ///< "layer 3 slice 5 has fewer bits than in the turn before"

  /// Returns the place, if there is one, and what is wrong there.
  [[nodiscard]] std::string text() const { return place.empty() ? what : place + ": " + what; }
};

/// The fault of a cascade level that has more than a submodel, where a file says so.
inline constexpr const char* kLevelHasMore =
    "a cascade level has variants, turns, words, a fallback or a cascade of its own";

/// Returns what helps against a fault: to plan for this model, or to correct the plan.
Remedy RemedyFor(const PlanFault& fault);

/// Returns the first rule that the plan, one of its turns or one of its variants breaks; nothing if
/// they keep all. Thread-safe.
std::optional<PlanFault> FindPlanFault(const Plan& plan, const PlanBounds& bounds);

}  // namespace sti
