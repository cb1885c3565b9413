// The job of sti-profile merge, and how both jobs write a profile.
#pragma once

#include "base/result.h"
#include "common/tool.h"
#include "options.h"

namespace sti {

/// Joins the profiles that were named, and writes the joined one. Returns the exit code.
Result<int> Merge(const Tool& tool, const ProfileToolOptions& options);

/// Writes the profile, to stdout too with --json.
Status WriteAndPrint(const Tool& tool, const ProfileToolOptions& options,
                     const DeviceProfile& profile);

}  // namespace sti
