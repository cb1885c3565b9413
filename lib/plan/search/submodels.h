// Compute planning (STI 5.3): which n x m submodels may run, and which of them is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/device_model.h"
#include "types/model_info.h"
#include "types/shard_id.h"
#include "types/submodel.h"

namespace sti {

/// Which submodels a request asks for.
struct SubmodelWish {
  std::optional<Submodel> named;  ///< this one alone
  uint32_t width_min = 1;
  bool allow_untrained = false;
  bool interpolate = false;  ///< widths between profiled ones too
};

/// Returns the original indexes of the layers that a depth of `depth` executes, ascending.
std::vector<uint32_t> LayersOfDepth(const ModelInfo& info, uint32_t depth);

/// Returns kDamaged if the model's sizes or depth map contradict themselves or the catalog.
Status ValidateModel(const ModelInfo& info, const ShardCatalog& catalog);

/// Returns every submodel that the model, the profile and the wish allow, whatever its time: depth
/// ascending, then width. Of a model without elastic metadata only N x M, and of an elastic one
/// none below its least depth and width, unless the wish says otherwise. Widths that sti-profile
/// was not asked for are left out; one that a profile written by hand lacks between its narrowest
/// and M is refused by name (kDamaged), unless the wish interpolates. kUsage or kInfeasible if
/// there is none.
Result<std::vector<Submodel>> AllowedSubmodels(const ModelInfo& info, const DeviceModel& device,
                                               const SubmodelWish& wish);

/// Returns, among submodels with at least (1 - similar) of the most shards, the deepest, then the
/// widest: the rule of compute planning. Requires at least one.
const Submodel& LargestThenDeepest(std::span<const Submodel> submodels, double similar);

}  // namespace sti
