// The picture: both lanes on top, then a row for each layer, as a staircase. Shades of bits come
// from one ramp, light to dark, which keeps its order for the colour-blind and in grey print.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "common/parse.h"
#include "pictures/gantt.h"
#include "pictures/svg.h"

namespace sti {
namespace {

constexpr double kWidth = 800;
constexpr double kRightMargin = 16;
constexpr double kLabelX = 70;
constexpr double kLanesTop = 84;
constexpr double kLane = 24;
constexpr double kLayer = 18;
constexpr double kGap = 6;
constexpr int kMostTimeTicks = 10;
constexpr const char* kComputeFill = "#b9c0cb";
constexpr const char* kOtherFill = "#7d8796";
constexpr const char* kOpenFill = "#8c564b";
constexpr const char* kPartsFill = "#d9a05b";
constexpr const char* kRowsFill = "url(#rows)";
constexpr const char* kStallFill = "url(#stall)";

struct Shade {
  const char* fill;
  const char* ink;
};

Shade ShadeOf(uint32_t bits) {
  switch (bits) {
    case 2:
      return {"#fde725", "black"};
    case 3:
      return {"#7ad151", "black"};
    case 4:
      return {"#22a884", "black"};
    case 5:
      return {"#2a788e", "white"};
    case 6:
      return {"#414487", "white"};
    default:
      return {"#160b22", "white"};
  }
}

// The colour of what an IO lane does; a load has that of the bits that it brings.
const char* FillOf(const PlanEvent& event) {
  switch (event.kind) {
    case LaneSpan::Kind::kOpen:
      return kOpenFill;
    case LaneSpan::Kind::kResident:
      return kPartsFill;
    case LaneSpan::Kind::kLoad:
      return ShadeOf(event.shard.bits).fill;
    default:
      return kRowsFill;
  }
}

std::string Span(const PlanEvent& event) {
  return ": " + TickMs(event.start_us, 1) + " to " + TickMs(event.end_us, 1) + " ms";
}

std::string TitleOf(const PlanEvent& event) {
  switch (event.kind) {
    case LaneSpan::Kind::kOpen:
      return "start and opening" + Span(event);
    case LaneSpan::Kind::kResident:
      return "parts that are no shards" + Span(event);
    case LaneSpan::Kind::kRows:
      return "embedding rows" + Span(event);
    case LaneSpan::Kind::kLoad:
      return NameOf(event.shard.id) + ", " + std::to_string(event.shard.bits) + " bits" +
             Span(event);
    case LaneSpan::Kind::kEmbed:
      return "embeddings" + Span(event);
    case LaneSpan::Kind::kLayer:
      return "layer " + std::to_string(event.shard.id.layer) + Span(event);
    case LaneSpan::Kind::kHead:
      return "head" + Span(event);
  }
  return "";
}

class GanttPicture {
 public:
  GanttPicture(const Plan& plan, const PlanTimeline& timeline)
      : plan_(plan),
        timeline_(timeline),
        range_(RangeOf(plan, timeline)),
        layers_(LayersOf(plan)),
        holding_(HoldingPlan(plan)),
        cell_(holding_.preload.empty() ? 0 : std::clamp(120.0 / holding_.width, 1.5, 9.0)),
        left_(kLabelX + cell_ * holding_.width + (holding_.preload.empty() ? 0 : 12)),
        io_lanes_(std::max(plan.agents, 1U)),
        layers_top_(LaneTop(io_lanes_ + 1) + 22),
        bottom_(layers_top_ + kLayer * static_cast<double>(layers_.size())),
        svg_(static_cast<int>(kWidth), static_cast<int>(Height()),
             " viewBox=\"0 0 800 " + SvgNumber(Height()) + "\"") {}

  std::string Draw(std::optional<uint64_t> preload_bytes) {
    Head(preload_bytes);
    Axis();
    Levels();
    Lanes();
    for (size_t row = 0; row < layers_.size(); ++row) Layer(layers_[row], row);
    Target();
    Legend();
    return svg_.Finish();
  }

 private:
  // A cold start has a row more in the legend.
  [[nodiscard]] double Height() const { return bottom_ + (plan_.cold ? 110 : 86); }

  [[nodiscard]] double X(double time_us) const {
    return left_ + (time_us - range_.start_us) / (range_.end_us - range_.start_us) *
                       (kWidth - kRightMargin - left_);
  }

  void Head(std::optional<uint64_t> preload_bytes) {
    std::string title = plan_.cascade ? "Cascade " : "Submodel ";
    if (plan_.cascade) {
      for (const CascadeLevel& level : plan_.cascade->levels)
        title += NameOf(SubmodelOf(level.plan)) + ", ";
    }
    title += NameOf(SubmodelOf(plan_));
    title += plan_.target_us ? ", T = " + FormatTimeUs(*plan_.target_us) : ", no target";
    title += preload_bytes ? ", S = " + FormatBytes(*preload_bytes)
                           : ", " + FormatBytes(holding_.preload_bytes) + " preloaded";
    svg_.Text(12, 24, title, " font-size=\"17\" font-weight=\"bold\"");
    svg_.Text(12, 44,
              "strategy " + plan_.strategy_name() + ", " + std::to_string(plan_.length) +
                  " tokens; " + GanttSummary(plan_, timeline_));
    svg_.Add(
        "<defs><pattern id=\"stall\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/>"
        "<rect width=\"2.4\" height=\"6\" fill=\"#d62728\"/></pattern>\n"
        "<pattern id=\"rows\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"4\" height=\"4\" fill=\"#fff\"/><rect width=\"4\" height=\"2\" "
        "fill=\"#555\"/></pattern></defs>\n");
  }

  void Axis() {
    const double step_us = TickStep(range_.end_us - range_.start_us, kMostTimeTicks);
    const double first = std::ceil(range_.start_us / step_us - 1e-9);
    for (int i = 0; (first + i) * step_us <= range_.end_us; ++i) {
      const double tick_us = (first + i) * step_us;
      svg_.Line(X(tick_us), kLanesTop - 8, X(tick_us), bottom_ + 4,
                tick_us == 0 ? " stroke=\"#555\"" : " stroke=\"#ddd\"");
      svg_.Text(X(tick_us), bottom_ + 18, TickMs(tick_us, step_us), " text-anchor=\"middle\"");
    }
    svg_.Text(kLabelX - 8, bottom_ + 18, "ms", " text-anchor=\"end\"");
  }

  // A line where each level of a cascade begins.
  void Levels() {
    for (size_t i = 0; i < timeline_.level_start_us.size(); ++i) {
      const double x = X(timeline_.level_start_us[i]);
      svg_.Line(x, kLanesTop - 8, x, bottom_ + 4, " stroke=\"#d62728\"");
      svg_.Text(x + 3, kLanesTop - 12, (i == 0 ? "level " : "") + std::to_string(i + 1),
                " fill=\"#d62728\"");
    }
  }

  // Thin white lines part neighbours where there is room for them.
  void Bar(double y, double height, const PlanEvent& event, std::string_view fill) {
    const double x = X(event.start_us);
    const double width = X(event.end_us) - x;
    svg_.Rect({x, y, std::max(width, 0.4), height}, fill, TitleOf(event),
              width >= 3 ? " stroke=\"white\" stroke-width=\"0.6\"" : "");
  }

  void Inside(double y, const PlanEvent& event, const std::string& text, const char* ink) {
    const double width = X(event.end_us) - X(event.start_us);
    if (width < 3.0 + 7.0 * static_cast<double>(text.size())) return;
    svg_.Text(
        (X(event.start_us) + X(event.end_us)) / 2, y, text,
        std::string(" text-anchor=\"middle\" font-size=\"11\" pointer-events=\"none\" fill=\"") +
            ink + "\"");
  }

  void Load(double y, double height, const PlanEvent& event) {
    Bar(y, height, event, FillOf(event));
    if (event.kind == LaneSpan::Kind::kLoad) {
      Inside(y + height / 2 + 4, event, std::to_string(event.shard.bits),
             ShadeOf(event.shard.bits).ink);
    }
  }

  void Compute(double y, double height, const PlanEvent& event) {
    const bool layer = event.kind == LaneSpan::Kind::kLayer;
    Bar(y, height, event, layer ? kComputeFill : kOtherFill);
    if (layer) Inside(y + height / 2 + 4, event, std::to_string(event.shard.id.layer), "black");
  }

  // The IO lanes, one below the other, then the compute lane.
  static constexpr double LaneTop(uint32_t lane) { return kLanesTop + lane * (kLane + kGap); }

  void Lanes() {
    const double compute_y = LaneTop(io_lanes_);
    for (uint32_t lane = 0; lane < io_lanes_; ++lane) {
      RowLabel(LaneTop(lane) + 16,
               plan_.agents > 1 ? "agent " + std::to_string(lane) : std::string("IO lane"));
    }
    RowLabel(compute_y + 16, "compute");
    double reached_us = 0;
    for (const PlanEvent& event : timeline_.events) {
      if (IsIo(event.kind)) {
        Load(LaneTop(event.agent), kLane, event);
        continue;
      }
      if (event.start_us > reached_us + 1e-6) Stall(compute_y, reached_us, event.start_us);
      Compute(compute_y, kLane, event);
      reached_us = event.end_us;
    }
    if (!holding_.preload.empty())
      svg_.Text(kLabelX, layers_top_ - 6, "in memory", " font-size=\"11\"");
  }

  void Stall(double y, double start_us, double end_us) {
    svg_.Rect({X(start_us), y, X(end_us) - X(start_us), kLane}, kStallFill,
              "waits for IO: " + TickMs(start_us, 1) + " to " + TickMs(end_us, 1) + " ms",
              " stroke=\"#d62728\" stroke-width=\"0.6\"");
  }

  void RowLabel(double y, const std::string& label) {
    svg_.Text(kLabelX - 8, y, label, " text-anchor=\"end\"");
  }

  void Layer(uint32_t layer, size_t row) {
    const double y = layers_top_ + kLayer * static_cast<double>(row);
    RowLabel(y + 13, "layer " + std::to_string(layer));
    Preloaded(layer, y);
    double ready_us = range_.start_us;
    for (const PlanEvent& event : timeline_.events) {
      if (event.kind != LaneSpan::Kind::kLoad && event.kind != LaneSpan::Kind::kLayer) continue;
      if (event.shard.id.layer != layer) continue;
      if (event.kind == LaneSpan::Kind::kLoad) {
        Load(y + 2, kLayer - 4, event);
        ready_us = event.end_us;
        continue;
      }
      svg_.Line(X(ready_us), y + kLayer / 2, X(event.start_us), y + kLayer / 2,
                " stroke=\"#888\" stroke-dasharray=\"1.5 2.5\"");
      Compute(y + 2, kLayer - 4, event);
    }
  }

  // Cells left of the axis, one a shard that is there when the text comes.
  void Preloaded(uint32_t layer, double y) {
    const auto at = std::find(holding_.layers.begin(), holding_.layers.end(), layer);
    for (const ShardAtBits& shard : holding_.preload) {
      if (shard.id.layer != layer) continue;
      const auto row = holding_.slices.Row(static_cast<uint32_t>(at - holding_.layers.begin()));
      const auto i = std::find(row.begin(), row.end(), shard.id.slice) - row.begin();
      svg_.Rect({kLabelX + cell_ * static_cast<double>(i), y + 2, cell_, kLayer - 4},
                ShadeOf(shard.bits).fill,
                NameOf(shard.id) + ", " + std::to_string(shard.bits) + " bits, preloaded",
                cell_ >= 3 ? " stroke=\"white\" stroke-width=\"0.6\"" : "");
    }
  }

  void Target() {
    if (!range_.target_us) return;
    const double x = X(*range_.target_us);
    svg_.Line(x, kLanesTop - 8, x, bottom_ + 4,
              " stroke=\"black\" stroke-width=\"2\" stroke-dasharray=\"6 3\"");
    svg_.Text(std::min(x, kWidth - kRightMargin) + 4, kLanesTop - 12,
              "T = " + FormatTimeUs(*range_.target_us),
              " text-anchor=\"end\" font-weight=\"bold\"");
  }

  void Key(double* x, double y, std::string_view fill, const std::string& text) {
    svg_.Rect({*x, y - 11, 18, 13}, fill, "", " stroke=\"#888\" stroke-width=\"0.5\"");
    svg_.Text(*x + 23, y, text);
    *x += 23 + 6.6 * static_cast<double>(text.size()) + 16;
  }

  void Legend() {
    std::set<uint32_t> bits;
    for (const PlanEvent& event : timeline_.events) {
      if (event.kind == LaneSpan::Kind::kLoad) bits.insert(event.shard.bits);
    }
    for (const ShardAtBits& shard : holding_.preload) bits.insert(shard.bits);
    double x = kLabelX;
    const double first = bottom_ + 44;
    RowLabel(first, "loads");
    for (const uint32_t b : bits) Key(&x, first, ShadeOf(b).fill, std::to_string(b) + " bits");
    Key(&x, first, kRowsFill, "embedding rows");
    x = kLabelX;
    const double second = bottom_ + 68;
    RowLabel(second, "compute");
    Key(&x, second, kComputeFill, "a layer, by its number");
    Key(&x, second, kOtherFill, "embeddings, head");
    Key(&x, second, kStallFill, "waits for IO");
    svg_.Line(x, second - 5, x + 22, second - 5, " stroke=\"#888\" stroke-dasharray=\"1.5 2.5\"");
    svg_.Text(x + 28, second, "loaded, not yet its turn");
    if (!plan_.cold) return;
    x = kLabelX;
    const double third = bottom_ + 92;
    RowLabel(third, "cold start");
    Key(&x, third, kOpenFill, "start and opening");
    Key(&x, third, kPartsFill, "parts that are no shards");
  }

  const Plan& plan_;
  const PlanTimeline& timeline_;
  GanttRange range_;
  std::vector<uint32_t> layers_;
  const PlanCore& holding_;
  double cell_;
  double left_;
  uint32_t io_lanes_;
  double layers_top_;
  double bottom_;
  Svg svg_;
};

}  // namespace

std::string GanttSvg(const Plan& plan, const PlanTimeline& timeline,
                     std::optional<uint64_t> preload_bytes) {
  return GanttPicture(plan, timeline).Draw(preload_bytes);
}

}  // namespace sti
