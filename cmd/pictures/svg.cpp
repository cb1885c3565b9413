#include "pictures/svg.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/atomic_file.h"
#include "base/utf8.h"

namespace sti {
namespace {

std::string Fixed(double value, int decimals) {
  std::array<char, 400> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals);
  return {text.data(), end.ptr};
}

std::string Attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + SvgNumber(value) + "\"";
}

}  // namespace

Status CheckPictureName(std::string_view option, std::string_view path, std::string_view ending) {
  if (path.empty() || path == "-" || path.ends_with(ending)) return {};
  const std::string format = ending == ".svg" ? "SVG" : "PNG";
  return UsageError(std::string(option) + " writes " + format + ", and " + std::string(path) +
                    " does not end in " + std::string(ending) + "; name it so");
}

std::string SvgEscape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return escaped;
}

std::string SvgNumber(double value) {
  std::string text = Fixed(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

Svg::Svg(int width, int height, std::string_view attributes)
    : text_("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
            "\" height=\"" + std::to_string(height) + "\"" + std::string(attributes) +
            " font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n") {}

void Svg::Rect(const SvgBox& box, std::string_view fill, std::string_view title,
               std::string_view attributes) {
  text_ += "<rect" + Attribute("x", box.x) + Attribute("y", box.y) + Attribute("width", box.width) +
           Attribute("height", box.height) + " fill=\"";
  text_ += fill;
  text_ += "\"";
  text_ += attributes;
  text_ += title.empty() ? "/>\n" : "><title>" + SvgEscape(title) + "</title></rect>\n";
}

void Svg::Text(double x, double y, std::string_view text, std::string_view attributes) {
  text_ += "<text" + Attribute("x", x) + Attribute("y", y);
  text_ += attributes;
  text_ += ">" + SvgEscape(text) + "</text>\n";
}

void Svg::Line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  text_ += "<line" + Attribute("x1", x1) + Attribute("y1", y1) + Attribute("x2", x2) +
           Attribute("y2", y2);
  text_ += attributes;
  text_ += "/>\n";
}

std::string Stacked(const std::vector<std::string>& pictures) {
  constexpr std::string_view kWidth = " width=\"";
  constexpr std::string_view kHeight = " height=\"";
  const auto size = [](const std::string& picture, std::string_view name) {
    return std::atoi(picture.c_str() + picture.find(name) + name.size());
  };
  int width = 0;
  int height = 0;
  std::string inside;
  for (const std::string& picture : pictures) {
    const size_t begin = picture.find("<svg ") + 4;
    inside += "<svg y=\"" + std::to_string(height) + "\"" + picture.substr(begin);
    width = std::max(width, size(picture, kWidth));
    height += size(picture, kHeight);
  }
  Svg svg(width, height);
  svg.Add(inside);
  return svg.Finish();
}

Status WriteSvg(const std::string& path, const std::string& svg) {
  if (path != "-") return WriteFileAtomically(path, AsBytes(svg));
  std::fwrite(svg.data(), 1, svg.size(), stdout);
  return {};
}

double TickStep(double range, int most) {
  double step = std::pow(10.0, std::floor(std::log10(range / most)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (step * factor) <= most) return step * factor;
  }
  return step * 10;
}

std::string TickMs(double time_us, double step_us) {
  const int decimals =
      std::clamp(-static_cast<int>(std::floor(std::log10(step_us / 1000) + 1e-9)), 0, 3);
  return Fixed(time_us / 1000, decimals);
}

}  // namespace sti
