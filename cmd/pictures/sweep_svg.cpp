// Quality over latency, both as predicted. Latency is on a logarithmic axis, since targets are
// spaced by ratio. Lines differ by colour and by mark; what is on the front is filled.
#include "pictures/sweep_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "common/parse.h"
#include "pictures/svg.h"

namespace sti {
namespace {

const char* TitleOf(SweepQuality quality) {
  switch (quality) {
    case SweepQuality::kAccuracy:
      return "predicted accuracy, %";
    case SweepQuality::kF1:
      return "predicted F1 of spans, %";
    case SweepQuality::kAgreement:
      return "predicted agreement with the full model, %";
    case SweepQuality::kCosine:
      return "predicted cosine with the full model";
    case SweepQuality::kSpearman:
      return "predicted Spearman with the scores";
    case SweepQuality::kShardBits:
      return "shards x mean bits";
  }
  return "";
}

bool IsShare(SweepQuality quality) {
  using enum SweepQuality;
  return quality == kAccuracy || quality == kF1 || quality == kAgreement;
}

constexpr double kSweepWidth = 800;
constexpr double kHeight = 460;
constexpr double kLeft = 76;
constexpr double kLegendWidth = 190;
constexpr double kTop = 56;
constexpr double kBottom = 400;
constexpr int kMostTicks = 7;

// Orange, sky blue, green, purple, brown, grey: apart for the colour-blind (after Okabe and Ito).
constexpr std::array<const char*, 6> kColours = {"#d55e00", "#0072b2", "#009e73",
                                                 "#cc79a7", "#8c6d31", "#555555"};

struct Range {
  double low = 0;
  double high = 0;
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

class SweepPicture {
 public:
  explicit SweepPicture(const SweepGrid& grid)
      : grid_(grid),
        svg_(static_cast<int>(kSweepWidth), static_cast<int>(kHeight), " viewBox=\"0 0 800 460\"") {
    for (const SweepCell& cell : grid.cells) {
      if (!cell.plan) continue;
      const double latency = std::log10(cell.plan->predicted_latency_us);
      const double quality = Quality(cell);
      if (lines_.empty()) {
        x_ = {latency, latency};
        y_ = {quality, quality};
      }
      x_.Add(latency);
      y_.Add(quality);
      lines_[cell.preload_bytes].push_back(&cell);
    }
    const double x_margin = std::max((x_.high - x_.low) * 0.04, 0.02);
    const double y_margin = std::max((y_.high - y_.low) * 0.06, 0.05);
    x_ = {x_.low - x_margin, x_.high + x_margin};
    y_ = {y_.low - y_margin, y_.high + y_margin};
  }

  std::string Draw() {
    svg_.Text(12, 24, "What a target and a preload buffer give",
              " font-size=\"17\" font-weight=\"bold\"");
    svg_.Text(12, 44, "each mark a plan; filled: no other is as good, as fast and as small");
    Axes();
    size_t index = 0;
    for (const auto& [preload, cells] : lines_) Line(index++, preload, cells);
    return svg_.Finish();
  }

 private:
  [[nodiscard]] double X(double latency_us) const {
    return kLeft + (std::log10(latency_us) - x_.low) / (x_.high - x_.low) *
                       (kSweepWidth - kLegendWidth - kLeft);
  }
  [[nodiscard]] double Y(double quality) const {
    return kBottom - (quality - y_.low) / (y_.high - y_.low) * (kBottom - kTop);
  }

  void Axes() {
    const int last_decade = static_cast<int>(std::floor(x_.high));
    for (int decade = static_cast<int>(std::floor(x_.low)); decade <= last_decade; ++decade) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double tick_us = factor * std::pow(10.0, decade);
        if (std::log10(tick_us) < x_.low || std::log10(tick_us) > x_.high) continue;
        svg_.Line(X(tick_us), kTop, X(tick_us), kBottom, " stroke=\"#ddd\"");
        svg_.Text(X(tick_us), kBottom + 18, TickMs(tick_us, tick_us), " text-anchor=\"middle\"");
      }
    }
    const double step = TickStep(y_.high - y_.low, kMostTicks);
    const double first = std::ceil(y_.low / step);
    for (int i = 0; (first + i) * step <= y_.high; ++i) {
      const double tick = (first + i) * step;
      svg_.Line(kLeft, Y(tick), kSweepWidth - kLegendWidth, Y(tick), " stroke=\"#ddd\"");
      svg_.Text(kLeft - 8, Y(tick) + 4, SvgNumber(tick), " text-anchor=\"end\"");
    }
    svg_.Rect({kLeft, kTop, kSweepWidth - kLegendWidth - kLeft, kBottom - kTop}, "none", "",
              " stroke=\"#444\"");
    svg_.Text((kLeft + kSweepWidth - kLegendWidth) / 2, kBottom + 42, "predicted latency, ms",
              " text-anchor=\"middle\"");
    const double middle = (kTop + kBottom) / 2;
    svg_.Text(20, middle, TitleOf(grid_.quality),
              " text-anchor=\"middle\" transform=\"rotate(-90 20 " + SvgNumber(middle) + ")\"");
  }

  void Mark(size_t shape, double x, double y, bool filled, const char* colour,
            const std::string& title) {
    const std::string style = std::string(" stroke=\"") + colour +
                              "\" stroke-width=\"1.8\" fill=\"" + (filled ? colour : "white") +
                              "\"";
    const std::string name = title.empty() ? "" : "<title>" + SvgEscape(title) + "</title>";
    const auto at = [](double value) { return SvgNumber(value); };
    switch (shape % 3) {
      case 0:
        svg_.Add("<circle cx=\"" + at(x) + "\" cy=\"" + at(y) + "\" r=\"5\"" + style + ">" + name +
                 "</circle>\n");
        break;
      case 1:
        svg_.Add("<rect x=\"" + at(x - 4.5) + "\" y=\"" + at(y - 4.5) +
                 "\" width=\"9\" height=\"9\"" + style + ">" + name + "</rect>\n");
        break;
      default:
        svg_.Add("<path d=\"M" + at(x) + " " + at(y - 6) + "L" + at(x + 6) + " " + at(y + 4.5) +
                 "H" + at(x - 6) + "Z\"" + style + ">" + name + "</path>\n");
    }
  }

  void Line(size_t index, uint64_t preload, const std::vector<const SweepCell*>& cells) {
    const char* colour = kColours[index % kColours.size()];
    std::string points;
    uint64_t least = cells.front()->plan->predicted_peak_bytes;
    uint64_t most = least;
    for (const SweepCell* cell : cells) {
      points +=
          SvgNumber(X(cell->plan->predicted_latency_us)) + "," + SvgNumber(Y(Quality(*cell))) + " ";
      least = std::min(least, cell->plan->predicted_peak_bytes);
      most = std::max(most, cell->plan->predicted_peak_bytes);
    }
    svg_.Add("<polyline points=\"" + points + "\" fill=\"none\" stroke=\"" + colour +
             "\" stroke-width=\"1.2\" stroke-opacity=\"0.6\"/>\n");
    for (const SweepCell* cell : cells) {
      const Plan& plan = *cell->plan;
      Mark(index, X(plan.predicted_latency_us), Y(Quality(*cell)), cell->on_front, colour,
           NameOf(SubmodelOf(plan)) + " within " + FormatTimeUs(cell->target_us) + ", peak " +
               FormatBytes(plan.predicted_peak_bytes));
    }
    const double y = kTop + 14 + 44 * static_cast<double>(index);
    const double x = kSweepWidth - kLegendWidth + 20;
    Mark(index, x, y - 4, true, colour, "");
    svg_.Text(x + 14, y, preload == 0 ? "no preload" : FormatBytes(preload) + " preload");
    svg_.Text(x + 14, y + 17, "peak " + FormatBytes(least) + " to " + FormatBytes(most),
              " font-size=\"11\" fill=\"#444\"");
  }

  [[nodiscard]] double Quality(const SweepCell& cell) const {
    return IsShare(grid_.quality) ? 100 * cell.quality : cell.quality;
  }

  const SweepGrid& grid_;
  std::map<uint64_t, std::vector<const SweepCell*>> lines_;  // by preload, then target
  Range x_;                                                  // log10 of microseconds
  Range y_;
  Svg svg_;
};

}  // namespace

std::string SweepSvg(const SweepGrid& grid) { return SweepPicture(grid).Draw(); }

}  // namespace sti
