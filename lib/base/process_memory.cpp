#include "base/process_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/control_group.h"

namespace sti {
namespace {

uint64_t StatusField(const char* field) {
  FILE* status = std::fopen("/proc/self/status", "re");
  if (status == nullptr) return 0;
  char line[256];
  unsigned long kilobytes = 0;
  size_t length = std::strlen(field);
  while (std::fgets(line, sizeof(line), status) != nullptr) {
    if (std::strncmp(line, field, length) == 0) {
      kilobytes = std::strtoul(line + length, nullptr, 10);
      break;
    }
  }
  std::fclose(status);
  return uint64_t{kilobytes} * 1024;
}

// Returns the size in bytes of all files that are mapped into this process.
uint64_t MappedFileBytes() {
  FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  char line[4352];  // a path has up to 4,096 bytes
  uint64_t bytes = 0;
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long inode = 0;
    const int fields = std::sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &inode);
    if (fields == 3 && inode != 0 && end > begin) bytes += end - begin;
  }
  std::fclose(maps);
  return bytes;
}

}  // namespace

uint64_t CurrentRssBytes() { return StatusField("VmRSS:"); }
uint64_t PeakRssBytes() { return StatusField("VmHWM:"); }

uint64_t SettledRssBytes() {
  const uint64_t now = CurrentRssBytes();
  // Files of a file system in memory (tmpfs, an initramfs) count as shared memory.
  const uint64_t of_files = std::min(now, StatusField("RssFile:") + StatusField("RssShmem:"));
  return now - of_files + std::max(of_files, MappedFileBytes() / 4 * 3);
}

void GiveBackFreeMemory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

namespace {

// The stall time of a file with the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", in
// microseconds since the system began.
std::optional<int64_t> StalledUs(const std::string& path) {
  constexpr std::string_view kTotal = "total=";
  for (const std::string& line : LinesOfFile(path)) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty() || words.front() != "some" || words.back().rfind(kTotal, 0) != 0) continue;
    return WholeNumber(std::string_view(words.back()).substr(kTotal.size()));
  }
  return std::nullopt;
}

// The events that mean that memory is short, of a file with lines such as "high 12".
std::optional<double> ShortEvents(const std::string& path) {
  std::optional<double> events;
  for (const std::string& line : LinesOfFile(path)) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.size() != 2 || (words[0] != "high" && words[0] != "oom")) continue;
    if (const auto count = WholeNumber(words[1]))
      events = events.value_or(0) + static_cast<double>(*count);
  }
  return events;
}

}  // namespace

MemoryPressure::MemoryPressure(const std::string& root)
    : stall_files_{root + "/proc/pressure/memory"} {
  for (const ControlGroup& group : ControlGroupsOf("memory", root)) {
    if (!group.unified) continue;
    stall_files_.push_back(group.mount + group.below + "/memory.pressure");
    events_file_ = group.mount + group.below + "/memory.events";
  }
  stalls_us_.resize(stall_files_.size());
}

bool MemoryPressure::WasShort(Clock::time_point now) {
  const double since_us = MicrosecondsBetween(last_, now);
  last_ = now;
  bool was_short = false;
  for (size_t i = 0; i < stall_files_.size(); ++i) {
    const std::optional<int64_t> before_us = stalls_us_[i];
    stalls_us_[i] = StalledUs(stall_files_[i]);
    if (!before_us || !stalls_us_[i]) continue;
    const auto stalled_us = static_cast<double>(*stalls_us_[i]) - static_cast<double>(*before_us);
    was_short = was_short || (stalled_us > 0 && stalled_us >= kShortShare * since_us);
  }
  const std::optional<double> before = events_;
  if (!events_file_.empty()) events_ = ShortEvents(events_file_);
  return was_short || (before && events_ && *events_ > *before);
}

}  // namespace sti
