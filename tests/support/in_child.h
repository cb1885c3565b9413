// Code run in a forked child, where it may take away from itself what a system may refuse.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sti {

/// What `body` returned in a forked child, or "died: ..." if it did not get that far. No other
/// thread may run in the calling process.
std::string InChild(const std::function<std::string()>& body);

/// From now on these system calls fail with `error_number` in this process and its threads; there
/// is no way back. False where the system has no such filters.
bool ForbidSystemCalls(const std::vector<long>& numbers, int error_number);

/// How many more descriptors this process may open; false if it cannot be set.
bool LeaveDescriptors(unsigned count);

}  // namespace sti
