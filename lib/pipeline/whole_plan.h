// The plan that needs no planner: for running a model without a target, and for measuring.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "format/container_index.h"
#include "types/model_info.h"
#include "types/plan.h"

namespace sti {

struct WholePlanOptions {
  std::optional<uint32_t> depth;  ///< n; default: N
  std::optional<uint32_t> width;  ///< m; default: M
  std::optional<uint32_t> bits;   ///< default: the most the container has
  uint32_t length = 0;            ///< default: the longest input
};

/// Returns a plan without planning: one submodel at uniform bits, nothing preloaded, no target.
/// Returns kUsage for what the model does not have, kInfeasible if the container holds only what
/// some plans read.
Result<Plan> MakeWholePlan(const ContainerIndex& index, const WholePlanOptions& options);

/// Returns the same plan of a container that holds only what some plans read, as far as it goes: of
/// the layers that it has whole at these bits the first ones, all where no depth is said, and at
/// the most bits that it has so. For measuring: what such a plan computes means nothing.
Result<Plan> MakeHeldPlan(const ContainerIndex& index, const WholePlanOptions& options);

/// Has a plan of a model that continues texts, and that says no context, do so as long as its
/// inputs are. The rows of all words, which the head needs for each token, stay in memory meanwhile
/// unless that is bounded.
void ContinueTexts(const ModelInfo& info, bool bounded, Plan* plan);

}  // namespace sti
