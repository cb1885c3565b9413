// Pictures as SVG text: one file, no scripts, no fonts or colours from elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sti {

/// Returns kUsage if a picture of one format is to go to a file whose name ends as another's:
/// `ending` is ".svg" or ".png", `option` names the file. Empty is no file, "-" stdout.
Status CheckPictureName(std::string_view option, std::string_view path, std::string_view ending);

/// `text` with &, <, > and quotes as XML has them; control characters become blanks.
std::string SvgEscape(std::string_view text);

/// A coordinate with at most two decimals, the same on every machine: "12", "3.5".
std::string SvgNumber(double value);

struct SvgBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// A picture in the making, on white. Texts are escaped here; attributes are written as given, each
/// behind a blank, as in ` font-size="13"`.
class Svg {
 public:
  Svg(int width, int height, std::string_view attributes = "");

  /// `title` is what a pointer resting on it shows; empty: nothing.
  void Rect(const SvgBox& box, std::string_view fill, std::string_view title = "",
            std::string_view attributes = "");
  void Text(double x, double y, std::string_view text, std::string_view attributes = "");
  void Line(double x1, double y1, double x2, double y2, std::string_view attributes);
  /// Any other elements, as they are.
  void Add(std::string_view elements) { text_ += elements; }

  [[nodiscard]] std::string Finish() const { return text_ + "</svg>\n"; }

 private:
  std::string text_;
};

/// Returns one picture of several that Svg has made, one below the other.
std::string Stacked(const std::vector<std::string>& pictures);

/// To a file, whole or not at all, or to stdout for "-".
Status WriteSvg(const std::string& path, const std::string& svg);

/// A distance between ticks of an axis that spans `range`: 1, 2 or 5 times a power of ten, and at
/// most `most` of them. Requires a range above 0.
double TickStep(double range, int most);

/// A time in milliseconds for an axis with ticks of `step_us`: as many decimals as it needs.
std::string TickMs(double time_us, double step_us);

}  // namespace sti
