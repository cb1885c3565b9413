// Code run in a forked child, where it may take away from itself what a system may refuse.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sti {

/// Returns what `body` returned in a forked child, or "died: ..." if it did not get that far. No
/// other thread may run in the calling process.
std::string InChild(const std::function<std::string()>& body);

/// Makes these system calls fail with `error_number` in this process and its threads; there is no
/// way back. Returns false where the system has no such filters.
bool ForbidSystemCalls(const std::vector<long>& numbers, int error_number);

/// Sets how many more descriptors this process may open; returns false if it cannot be set.
bool LeaveDescriptors(unsigned count);

}  // namespace sti
