// Which parts of which shards a container holds: all that its bitwidths need, or only what some
// plans read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/container_index.h"
#include "types/plan.h"

namespace sti {

/// The parts that a container holds of each shard, [layers * width].
using PartSelection = std::vector<PartSet>;

/// Selects the parts that each of `bits` needs, of every shard.
PartSelection SelectAll(const ModelShape& shape, std::span<const uint32_t> bits);

/// Selects what the plans read, their turns and variants included. FindPlanFault finds none within
/// the shape.
PartSelection SelectForPlans(const ModelShape& shape, std::span<const Plan> plans);

/// Returns all bitwidths that the plans, their turns and variants use, ascending.
std::vector<uint32_t> BitsOfPlans(std::span<const Plan> plans);

}  // namespace sti
