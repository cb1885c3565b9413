// Checks whether a device profile keeps the rules of spec/profile.md. A file of a profile is held
// to all of them by whoever reads it, so that what is called whole can be planned with; and a
// profile that was made otherwise, of others or of what a run measured, by whoever plans with it.
#pragma once

#include <optional>
#include <string>

#include "types/device_profile.h"

namespace sti {

/// Returns the first rule that a profile breaks, as a sentence that names the entry:
/// "compute[3].layer_us is negative". Nothing if it keeps all. Thread-safe.
std::optional<std::string> FindProfileFault(const DeviceProfile& profile);

/// Returns the fault of a profile that has more entries of `list` than there may be.
std::string TooManyEntries(const char* list);

}  // namespace sti
