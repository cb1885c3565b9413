// Several profiles of one device and shape, joined: one of each clock, or of lengths and widths
// that were measured apart.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "types/device_profile.h"

namespace sti {

struct NamedProfile {
  std::string name;  ///< its file, for messages
  DeviceProfile profile;
};

/// Returns a profile that has all numbers of `profiles`, one or more. Where several have one for
/// the same thing, the slowest counts, so that their order does not matter; then times ascend with
/// work (SmoothProfile). Passes of several inputs go with those of as many. Of series those lengths
/// stay that all have. What is said once of a device is the first one's, or of the first that says
/// it. Errors name the files: kForeign where they are of another shape, kernel, read path, number
/// of threads or cores, or where only some say their clock; kUsage where they have more numbers of
/// inputs together than a profile.
Result<DeviceProfile> JoinProfiles(const std::vector<NamedProfile>& profiles);

}  // namespace sti
