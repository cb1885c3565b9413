#include "base/memory_pressure.h"

#include <cstdint>
#include <string_view>

#include "base/control_group.h"

namespace sti {
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
