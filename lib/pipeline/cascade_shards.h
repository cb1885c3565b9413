// The shards that a cascade hands on: what a level has in memory and a later one runs stays there
// until that one has run, so that no plane is read twice for one input. Planes and full fidelity
// share nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "types/plan.h"
#include "types/shard_id.h"

namespace sti {

/// Returns what the levels up to and including `level`, from 0, run of what the levels behind it
/// run too, ascending. A shard is there twice if both its planes and its full fidelity are. The
/// plan has so many levels; behind the last of them there is nothing.
std::vector<ShardAtBits> HandedOn(const Plan& plan, size_t level);

/// Returns the bytes of shards that a level before the last, from 0, counts on reading. Its buffer
/// also holds the plan's words, whose rows have `row_bytes` each.
uint64_t PlannedReads(const Plan& plan, size_t level, uint64_t row_bytes);

}  // namespace sti
