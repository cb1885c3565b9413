#include "common/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "common/lines.h"

namespace sti {
namespace {

struct Suffix {
  std::string_view name;
  double factor;
};

constexpr std::array kSizeUnits = {
    Suffix{"", 1},       Suffix{"B", 1},         Suffix{"kB", 1e3},
    Suffix{"KB", 1e3},   Suffix{"MB", 1e6},      Suffix{"GB", 1e9},
    Suffix{"KiB", 1024}, Suffix{"MiB", 1048576}, Suffix{"GiB", 1073741824}};
constexpr std::array kTimeUnits = {Suffix{"us", 1}, Suffix{"ms", 1e3}, Suffix{"s", 1e6}};
constexpr size_t kMaxListNumbers = 4096;
constexpr double kMaxQuantity = 1e15;  // a petabyte, or thirty years

// A decimal number, then one of `units`.
template <size_t N>
std::optional<double> ParseQuantity(std::string_view text, const std::array<Suffix, N>& units) {
  double number = 0;
  auto [rest, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view name(rest, static_cast<size_t>(text.data() + text.size() - rest));
  auto unit = std::find_if(units.begin(), units.end(),
                           [&](const Suffix& candidate) { return candidate.name == name; });
  if (unit == units.end() || number * unit->factor > kMaxQuantity) return std::nullopt;
  return number * unit->factor;
}

std::optional<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<uint64_t> ParseSize(std::string_view text) {
  auto bytes = ParseQuantity(text, kSizeUnits);
  if (!bytes) return UsageError(Quoted(text) + " is not a size; write 1MiB, 1MB or 1048576");
  return static_cast<uint64_t>(std::llround(*bytes));
}

Result<double> ParseTimeUs(std::string_view text) {
  if (text == "0") return 0.0;  // the same in every unit
  auto us = ParseQuantity(text, kTimeUnits);
  if (!us) return UsageError(Quoted(text) + " is not a time; write 200ms, 0.2s or 200us");
  return *us;
}

Result<std::vector<uint32_t>> ParseList(std::string_view text) {
  auto bad = [&] { return UsageError(Quoted(text) + " is not a list; write 2-6,32"); };
  std::vector<uint32_t> numbers;
  for (const std::string_view item : SplitAtCommas(text)) {
    size_t dash = item.find('-');
    auto first = ParseNumber(item.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : ParseNumber(item.substr(dash + 1));
    if (!first || !last || *first > *last || *last - *first >= kMaxListNumbers) return bad();
    for (uint64_t n = *first; n <= *last; ++n) numbers.push_back(static_cast<uint32_t>(n));
    if (numbers.size() > kMaxListNumbers) return bad();
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

namespace {

constexpr size_t kMostQuantities = 64;

template <typename Value>
Result<std::vector<Value>> ParseQuantities(std::string_view text,
                                           Result<Value> (*parse)(std::string_view)) {
  std::vector<Value> values;
  for (const std::string_view part : SplitAtCommas(text)) {
    STI_ASSIGN_OR_RETURN(const Value value, parse(part));
    if (values.size() == kMostQuantities)
      return UsageError(Quoted(text) + " has more than 64 entries; drop some");
    values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

Result<std::vector<double>> ParseTimes(std::string_view text) {
  return ParseQuantities<double>(text, ParseTimeUs);
}

Result<std::vector<uint64_t>> ParseSizes(std::string_view text) {
  return ParseQuantities<uint64_t>(text, ParseSize);
}

Result<Submodel> ParseSubmodel(std::string_view text) {
  size_t cross = text.find('x');
  if (cross != std::string_view::npos) {
    auto depth = ParseNumber(text.substr(0, cross));
    auto width = ParseNumber(text.substr(cross + 1));
    if (depth && width && *depth >= 1 && *width >= 1) return Submodel{*depth, *width};
  }
  return UsageError(Quoted(text) + " is not a submodel; write layers x width as 5x3");
}

Result<double> ParseShare(std::string_view text) {
  constexpr std::array kShareUnits = {Suffix{"", 1}, Suffix{"%", 0.01}};
  auto share = ParseQuantity(text, kShareUnits);
  if (!share || *share > 1) return UsageError(Quoted(text) + " is not a share; write 20% or 0.2");
  return *share;
}

std::string FormatBytes(uint64_t bytes) {
  auto value = static_cast<double>(bytes);
  if (bytes < 1000) return std::to_string(bytes) + " B";
  if (bytes < 1000000) return Format("%.1f kB", value / 1e3);
  if (bytes < 1000000000) return Format("%.1f MB", value / 1e6);
  return Format("%.2f GB", value / 1e9);
}

std::string FormatTimeUs(double us) {
  if (us < 1000) return Format("%.0f us", us);
  if (us < 1e5) return Format("%.2f ms", us / 1e3);
  if (us < 1e6) return Format("%.0f ms", us / 1e3);
  return Format("%.2f s", us / 1e6);
}

}  // namespace sti
