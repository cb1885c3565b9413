// The terminal's picture: a line for each lane, then one for each layer, one column a stretch of
// time. A column shows what fills most of it; work shorter than a column still gets the one where
// its middle lies.
#include "pictures/gantt.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

#include "common/parse.h"
#include "pictures/svg.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr size_t kLabelColumns = 14;
constexpr size_t kGanttColumns = 63;
constexpr int kMostRulerTicks = 8;

// Marks of the plain spelling; Unicode ones replace them one for one at the end.
constexpr char kCompute = '#';
constexpr char kStall = '!';
constexpr char kLoaded = '-';
constexpr char kTarget = ':';

char MarkOf(const PlanEvent& event) {
  switch (event.kind) {
    case LaneSpan::Kind::kOpen:
      return 'o';
    case LaneSpan::Kind::kRows:
      return 'r';
    case LaneSpan::Kind::kResident:
      return 'p';
    case LaneSpan::Kind::kLoad:
      return event.shard.bits >= kFullBits ? 'F' : static_cast<char>('0' + event.shard.bits % 10);
    case LaneSpan::Kind::kEmbed:
      return 'e';
    case LaneSpan::Kind::kLayer:
      return kCompute;
    case LaneSpan::Kind::kHead:
      return 'h';
  }
  return '?';
}

class Row {
 public:
  explicit Row(const GanttRange& range)
      : start_us_(range.start_us),
        column_us_((range.end_us - range.start_us) / kGanttColumns),
        marks_(kGanttColumns, ' '),
        filled_us_(kGanttColumns) {}

  /// Draws over what fills less of a column.
  void Draw(char mark, double start_us, double end_us) {
    const size_t first = ColumnOf(start_us);
    const size_t last = ColumnOf(end_us);
    const size_t middle = ColumnOf((start_us + end_us) / 2);
    for (size_t column = first; column <= last; ++column) {
      const double from_us = start_us_ + static_cast<double>(column) * column_us_;
      const double filled_us = std::min(end_us, from_us + column_us_) - std::max(start_us, from_us);
      const bool seen = filled_us >= column_us_ / 2 || column == middle;
      if (!seen || (marks_[column] != ' ' && filled_us <= filled_us_[column])) continue;
      marks_[column] = mark;
      filled_us_[column] = filled_us;
    }
  }
  /// Draws only where nothing is.
  void DrawUnder(char mark, double start_us, double end_us) {
    if (end_us <= start_us) return;
    for (size_t column = ColumnOf(start_us); column <= ColumnOf(end_us); ++column) {
      if (marks_[column] == ' ') marks_[column] = mark;
    }
  }
  void Put(size_t column, char mark) { marks_[std::min(column, kGanttColumns - 1)] = mark; }
  [[nodiscard]] size_t ColumnOf(double time_us) const {
    const double column = std::floor((time_us - start_us_) / column_us_ + 1e-9);
    return static_cast<size_t>(std::clamp(column, 0.0, static_cast<double>(kGanttColumns - 1)));
  }
  [[nodiscard]] const std::string& marks() const { return marks_; }

 private:
  double start_us_;
  double column_us_;
  std::string marks_;
  std::vector<double> filled_us_;
};

std::string Line(std::string label, const std::string& marks) {
  label.resize(kLabelColumns, ' ');
  std::string line = label + marks;
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

std::vector<double> TicksOf(const GanttRange& range, double step_us) {
  std::vector<double> ticks_us;
  const double first = std::ceil(range.start_us / step_us - 1e-9);
  for (int i = 0; (first + i) * step_us <= range.end_us; ++i)
    ticks_us.push_back((first + i) * step_us);
  return ticks_us;
}

std::string AxisLabels(const GanttRange& range) {
  const Row row(range);
  const double step_us = TickStep(range.end_us - range.start_us, kMostRulerTicks);
  std::string labels(kGanttColumns + 2, ' ');
  size_t free_from = 0;
  for (const double tick_us : TicksOf(range, step_us)) {
    const size_t column = row.ColumnOf(tick_us);
    const std::string label = TickMs(tick_us, step_us);
    if (column < free_from || column + label.size() > labels.size()) continue;
    labels.replace(column, label.size(), label);
    free_from = column + label.size() + 1;
  }
  return Line("ms", labels);
}

std::string Ruler(const GanttRange& range) {
  const Row row(range);
  std::string ruler(kGanttColumns, '-');
  for (const double tick_us :
       TicksOf(range, TickStep(range.end_us - range.start_us, kMostRulerTicks)))
    ruler[row.ColumnOf(tick_us)] = '+';
  if (range.target_us) ruler[row.ColumnOf(*range.target_us)] = 'T';
  return Line("", ruler);
}

std::string WithTarget(const GanttRange& range, Row row) {
  if (range.target_us) row.DrawUnder(kTarget, *range.target_us, *range.target_us + 1e-6);
  return row.marks();
}

// Returns the name of an IO lane; of several each is an agent's.
std::string NameOfIoLane(uint32_t lane, uint32_t agents) {
  return agents > 1 ? "agent " + std::to_string(lane) : "IO";
}

// Returns the lines of the lanes: what each does, and where compute waits.
std::string LaneLines(const PlanTimeline& timeline, uint32_t agents, const GanttRange& range) {
  std::vector<Row> io(std::max(agents, 1U), Row(range));
  Row compute(range);
  double reached_us = 0;
  for (const PlanEvent& event : timeline.events) {
    if (IsIo(event.kind)) {
      io[event.agent].Draw(MarkOf(event), event.start_us, event.end_us);
      continue;
    }
    if (event.start_us > reached_us) compute.Draw(kStall, reached_us, event.start_us);
    compute.Draw(MarkOf(event), event.start_us, event.end_us);
    reached_us = event.end_us;
  }
  std::string text;
  for (uint32_t lane = 0; lane < io.size(); ++lane)
    text += Line(NameOfIoLane(lane, agents), WithTarget(range, io[lane]));
  return text + Line("compute", WithTarget(range, compute));
}

// One line that says which level of a cascade has its turn.
std::string LevelLine(const PlanTimeline& timeline, const GanttRange& range) {
  if (timeline.level_start_us.empty()) return "";
  Row row(range);
  row.DrawUnder(kLoaded, 0, timeline.latency_us);
  for (size_t i = 0; i < timeline.level_start_us.size(); ++i)
    row.Put(row.ColumnOf(timeline.level_start_us[i]), static_cast<char>('1' + i));
  return Line("level", WithTarget(range, row));
}

// Preloaded shards of a layer.
size_t PreloadedIn(const PlanCore& plan, uint32_t layer) {
  return static_cast<size_t>(
      std::count_if(plan.preload.begin(), plan.preload.end(),
                    [&](const ShardAtBits& shard) { return shard.id.layer == layer; }));
}

// One line a layer: its loads, the time it lies ready, its computation.
std::string LayerLines(const Plan& plan, const PlanTimeline& timeline, const GanttRange& range) {
  std::string text;
  for (const uint32_t layer : LayersOf(plan)) {
    Row row(range);
    double ready_us = range.start_us;
    for (const PlanEvent& event : timeline.events) {
      const bool mine = event.kind == LaneSpan::Kind::kLoad || event.kind == LaneSpan::Kind::kLayer;
      if (!mine || event.shard.id.layer != layer) continue;
      row.Draw(MarkOf(event), event.start_us, event.end_us);
      if (event.kind == LaneSpan::Kind::kLoad) ready_us = event.end_us;
      if (event.kind == LaneSpan::Kind::kLayer) row.DrawUnder(kLoaded, ready_us, event.start_us);
    }
    char label[40];
    std::snprintf(label, sizeof(label), "layer %3u", layer);
    const size_t preloaded = PreloadedIn(HoldingPlan(plan), layer);
    const std::string held = preloaded == 0 ? "" : " [" + std::to_string(preloaded) + "]";
    text += Line(label + held, WithTarget(range, row));
  }
  return text;
}

std::string Shown(char mark, bool unicode) {
  if (!unicode) return {mark};
  switch (mark) {
    case kCompute:
      return "\u2588";
    case kStall:
      return "\u2591";
    case kLoaded:
      return "\u2500";
    case kTarget:
      return "\u2502";
    case '+':
      return "\u253c";
    default:
      return {mark};
  }
}

std::string Shown(const std::string& marks, bool unicode) {
  std::string shown;
  for (const char mark : marks) shown += Shown(mark, unicode);
  return shown;
}

std::string Legend(const Plan& plan, const GanttRange& range, bool unicode) {
  std::string text =
      "  IO       2-6 a load at these bits, F at 32; r embedding rows\n"
      "  compute  " +
      Shown(kCompute, unicode) + " a layer, e embeddings, h head; " + Shown(kStall, unicode) +
      " waits for IO\n  layers   " + Shown(kLoaded, unicode) +
      " loaded, not yet its turn; [n] shards preloaded";
  if (plan.cascade) text += "\n  level    of the cascade, where each begins";
  if (plan.cold) text += "\n  cold     o start and opening, p parts that are no shards";
  if (range.target_us) text += "; " + Shown(kTarget, unicode) + " target";
  text += '\n';
  if (plan.target_us && !range.target_us)
    text += "  the target, " + FormatTimeUs(*plan.target_us) + ", lies beyond the picture\n";
  return text;
}

}  // namespace

GanttRange RangeOf(const Plan& plan, const PlanTimeline& timeline) {
  constexpr double kFarOff = 2.5;
  GanttRange range{-timeline.wake_us, std::max(timeline.latency_us, 1e-3), {}};
  if (plan.target_us && *plan.target_us <= kFarOff * range.end_us) {
    range.target_us = plan.target_us;
    range.end_us = std::max(range.end_us, *plan.target_us);
  }
  // A little more, so that the last line is inside.
  range.end_us += (range.end_us - range.start_us) / 100;
  return range;
}

const PlanCore& HoldingPlan(const Plan& plan) {
  return plan.cascade ? plan.cascade->levels.front().plan : plan;
}

std::vector<uint32_t> LayersOf(const Plan& plan) {
  std::set<uint32_t> layers(plan.layers.begin(), plan.layers.end());
  if (plan.cascade) {
    for (const CascadeLevel& level : plan.cascade->levels)
      layers.insert(level.plan.layers.begin(), level.plan.layers.end());
  }
  return {layers.begin(), layers.end()};
}

std::string GanttSummary(const Plan& plan, const PlanTimeline& timeline) {
  std::string text = "by medians: " + FormatTimeUs(timeline.latency_us);
  if (plan.target_us) text += " of " + FormatTimeUs(*plan.target_us);
  if (timeline.wake_us > 0) text += ", IO from " + FormatTimeUs(timeline.wake_us) + " before";
  const bool waits = timeline.stall_us >= 0.5;
  return text + (waits ? "; compute waits " + FormatTimeUs(timeline.stall_us) + " for IO"
                       : "; compute never waits for IO");
}

std::string GanttText(const Plan& plan, const PlanTimeline& timeline, bool unicode) {
  const GanttRange range = RangeOf(plan, timeline);
  const std::string lanes = LevelLine(timeline, range) + LaneLines(timeline, plan.agents, range) +
                            LayerLines(plan, timeline, range);
  return "timeline   " + GanttSummary(plan, timeline) + "\n" + AxisLabels(range) +
         Shown(Ruler(range) + lanes, unicode) + Legend(plan, range, unicode);
}

bool ShowsUnicode(FILE* stream) {
  if (isatty(fileno(stream)) == 0) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale(value);
    return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace sti
