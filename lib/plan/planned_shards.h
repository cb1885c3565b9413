// The shards that a plan runs, with what they cost. Internal to lib/plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/device_model.h"
#include "plan/timeline.h"
#include "types/plan.h"
#include "types/shard_catalog.h"

namespace sti {

/// One shard of a plan at one risk.
struct PlannedShard {
  StreamedShard shard;
  ShardAtBits name;  ///< original layer, slice, bits
  bool preloaded = false;
};

/// All shards of a well-formed plan in layer order; what catalog or device lack costs 0.
std::vector<PlannedShard> ShardsOf(const ShardCatalog& catalog, const DeviceModel& device,
                                   const Plan& plan);

}  // namespace sti
