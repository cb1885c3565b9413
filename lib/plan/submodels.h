// Stage 1: which n x m submodels may run, and which of them is taken (STI 5.3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/device_model.h"
#include "plan/request.h"

namespace sti {

/// Original indexes of the layers that a depth of `depth` executes, ascending.
std::vector<uint32_t> LayersOfDepth(const ModelInfo& info, uint32_t depth);

/// kData if the model's sizes or depth map contradict themselves or the catalog.
Status ValidateModel(const ModelInfo& info, const ShardCatalog& catalog);

/// Every submodel that the model, the profile and the request allow, whatever its time: depth
/// ascending, then width. Of a model without elastic metadata only N x M, unless the request says
/// otherwise. Widths that sti-profile was not asked for are left out; one that a profile written by
/// hand lacks between its narrowest and M is refused by name (kData), unless the request
/// interpolates. kUsage or kInfeasible if there is none.
Result<std::vector<Submodel>> AllowedSubmodels(const ModelInfo& info, const DeviceModel& device,
                                               const PlanRequest& request);

/// The rule of stage 1: among submodels with at least (1 - similar) of the most shards the
/// deepest, then the widest. Requires at least one.
const Submodel& LargestThenDeepest(std::span<const Submodel> submodels, double similar);

}  // namespace sti
