#pragma once

#include <string>

#include "base/result.h"
#include "format/container_index.h"
#include "types/compute_type.h"
#include "types/plan.h"

namespace sti {

/// DataError, naming `file`, unless `plan` and its variants were made for this container and can be
/// served by it: shards that it holds, lengths that the model takes, preload entries that each plan
/// runs, of which a variant has none that the plan itself has not. Thread-safe.
[[nodiscard]] Status CheckPlanFits(const ContainerIndex& index, const Plan& plan,
                                   const std::string& file);

/// UsageError unless `plan` counts on products of this type, or does not say. Thread-safe.
[[nodiscard]] Status CheckPlanComputes(const Plan& plan, ComputeType type);

}  // namespace sti
