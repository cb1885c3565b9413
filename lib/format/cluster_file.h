// The file of a cluster, which has one spelling, JSON (spec/cluster.md): people write it, and it
// holds all that a planner needs to know of the devices. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "format/unknown_keys.h"
#include "types/cluster.h"

namespace sti {

/// Reads a cluster, with links between kinds as links between their devices. kDamaged naming `name`
/// and the entry that breaks a rule, so that KindsOf succeeds with what is read; kForeign if the
/// file is too large. Adds fields that this version does not know to `unknown`, which may be null.
Result<Cluster> ParseCluster(std::span<const uint8_t> bytes, const std::string& name,
                             UnknownKeys* unknown = nullptr);

}  // namespace sti
