#include "base/control_group.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace sti {
namespace {

// The parts of `text` between separators, without empty ones.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// Whether a comma-separated list holds `item`.
bool Lists(const std::string& list, std::string_view item) {
  const std::vector<std::string> items = Split(list, ',');
  return std::find(items.begin(), items.end(), item) != items.end();
}

// The group of this process, from /proc/self/cgroup: lines `number:controllers:path`, version 2's
// with no controllers.
std::optional<std::string> OwnGroup(const std::string& root, bool unified,
                                    std::string_view controller) {
  for (const std::string& line : LinesOfFile(root + "/proc/self/cgroup")) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : Lists(controllers, controller))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

// Returns where a group is below a mount. What a mount shows of the hierarchy may begin below its
// top, as in a container. A group beside that is not to be seen: then the mount's own top counts.
std::string BelowMount(const std::string& group, const std::string& mount_root) {
  const std::string top = mount_root == "/" ? "" : mount_root;
  if (group.rfind(top + "/", 0) != 0 || group.find("/..") != std::string::npos) return "";
  const std::string below = group.substr(top.size());
  return below == "/" ? "" : below;
}

}  // namespace

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> LinesOfFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char part[4096];
  ssize_t count = 0;
  while ((count = read(file, part, sizeof part)) > 0) text.append(part, static_cast<size_t>(count));
  close(file);
  return Split(text, '\n');
}

std::vector<std::string> WordsOf(std::string_view line) { return Split(line, ' '); }

// From the lines of /proc/self/mountinfo:
// `id parent device root mount-point options... - type source options`.
std::vector<ControlGroup> ControlGroupsOf(std::string_view controller, const std::string& root) {
  std::vector<ControlGroup> found;
  for (const std::string& line : LinesOfFile(root + "/proc/self/mountinfo")) {
    if (line.find(" - cgroup") == std::string::npos) continue;
    const std::vector<std::string> words = WordsOf(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
    const bool unified = dash[1] == "cgroup2";
    const bool has_it = unified || (dash[1] == "cgroup" && Lists(dash[3], controller));
    if (!has_it) continue;
    const std::optional<std::string> group = OwnGroup(root, unified, controller);
    if (group) found.push_back({unified, root + words[4], BelowMount(*group, words[3])});
  }
  return found;
}

namespace {

std::string FirstLine(const std::string& path) {
  const std::vector<std::string> lines = LinesOfFile(path);
  return lines.empty() ? "" : lines.front();
}

// CPUs that one group's files allow, rounded up; 0 for no limit.
uint32_t GroupQuota(const std::string& folder, bool unified) {
  std::vector<std::string> words;
  if (unified) {
    words = WordsOf(FirstLine(folder + "/cpu.max"));
  } else {
    words = {FirstLine(folder + "/cpu.cfs_quota_us"), FirstLine(folder + "/cpu.cfs_period_us")};
  }
  if (words.size() != 2) return 0;
  const std::optional<int64_t> quota_us = WholeNumber(words[0]);
  const std::optional<int64_t> period_us = WholeNumber(words[1]);
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return 0;
  const int64_t cpus = (*quota_us - 1) / *period_us + 1;
  return static_cast<uint32_t>(std::min<int64_t>(cpus, UINT32_MAX));
}

uint32_t AffinityCpus() {
  // A machine may have more CPUs than the usual set has room for.
  for (size_t cpus = CPU_SETSIZE; cpus <= size_t{1} << 20; cpus *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<cpu_set_t> set((bytes + sizeof(cpu_set_t) - 1) / sizeof(cpu_set_t));
    if (sched_getaffinity(0, bytes, set.data()) == 0) {
      return static_cast<uint32_t>(std::max(CPU_COUNT_S(bytes, set.data()), 1));
    }
  }
  return 1;
}

}  // namespace

uint32_t QuotaCpus(const std::string& root) {
  uint32_t least = 0;
  for (const ControlGroup& group : ControlGroupsOf("cpu", root)) {
    std::string below = group.below;
    while (true) {
      const uint32_t quota = GroupQuota(group.mount + below, group.unified);
      if (quota != 0) least = least == 0 ? quota : std::min(least, quota);
      if (below.empty()) break;
      below.resize(below.rfind('/'));
    }
  }
  return least;
}

uint32_t UsableCpus() {
  const uint32_t allowed = AffinityCpus();
  if (allowed == 1) return 1;
  static const uint32_t quota = QuotaCpus();
  return quota == 0 ? allowed : std::min(allowed, quota);
}

}  // namespace sti
