// The control groups of this process, version 1 and 2: folders whose files say what the system
// allows it, and what it takes. The threads worth starting follow from them: more than the system
// lets run at once only get in each other's way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sti {

/// A mounted hierarchy of control groups, and this process's group in it.
struct ControlGroup {
  bool unified = false;  ///< version 2
  std::string mount;     ///< folder where the hierarchy is mounted
  std::string below;     ///< the group's folder from there on; "" or "/..."
};

/// Returns this process's groups in the hierarchies that have a controller, such as "cpu"; that of
/// version 2 is always among them. Reads `root`/proc, and names folders below `root`, which is ""
/// but in tests. Thread-safe.
std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const std::string& root);

/// Returns the lines of a small file of the system that are not empty; none if it cannot be read.
/// Not by a stream: the first of a process costs a cold start a tenth of a millisecond.
std::vector<std::string> LinesOfFile(const std::string& path);

/// Returns the words of a line between spaces.
std::vector<std::string> WordsOf(std::string_view line);

/// Returns the whole number that a text is, nothing if it is none.
std::optional<int64_t> WholeNumber(std::string_view text);

/// Returns the CPUs whose time the control groups of this process leave it, a part of one counted
/// as one: the smallest quota of its own group and those above, of version 1 (cpu.cfs_quota_us over
/// cpu.cfs_period_us) and version 2 (cpu.max). 0 if there is no quota, or none that can be read.
/// Reads `root`/proc and the groups' files below `root`, which is "" but in tests. Thread-safe.
uint32_t QuotaCpus(const std::string& root = "");

/// Returns the CPUs that this process may keep busy: its affinity, or its quota where that is
/// smaller; at least 1. The quota is the one that a process had when it first asked, since finding
/// it out takes a tenth of a millisecond and more. Thread-safe.
uint32_t UsableCpus();

}  // namespace sti
