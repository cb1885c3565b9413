#include "score/baseline.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/remedy.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr const char* kFields[] = {Baseline::kExamplesField, Baseline::kRowsField,
                                   Baseline::kRightField};

// Reads the fields that count, and keeps nothing of all others, however many there are.
Json ParseFields(std::string_view text) {
  const auto keep = [](int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key) {
      return std::find(std::begin(kFields), std::end(kFields), parsed) != std::end(kFields);
    }
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    return !opens || depth == 0;
  };
  return Json::parse(text.begin(), text.end(), keep, false);
}

Error NoBaseline(const std::string& what) { return DataError(what).Fix(Remedy::kGiveEvaluation); }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Returns nothing but success if `hex` has a bit for each of `count` rows and no more.
Status ReadBits(const std::string& hex, uint64_t count, std::vector<bool>* right) {
  if (hex.size() != count / 4 + (count % 4 == 0 ? 0 : 1)) {
    return NoBaseline("\"correct_bits\" has not one bit an example");
  }
  right->reserve(hex.size() * 4);
  for (const char c : hex) {
    const int value = HexValue(c);
    if (value < 0) return NoBaseline("\"correct_bits\" is not hexadecimal");
    for (int bit = 3; bit >= 0; --bit) right->push_back((value >> bit & 1) != 0);
  }
  if (std::find(right->begin() + static_cast<std::ptrdiff_t>(count), right->end(), true) !=
      right->end()) {
    return NoBaseline("\"correct_bits\" has bits beyond its examples");
  }
  right->resize(count);
  return {};
}

}  // namespace

std::string RightToHex(const std::vector<bool>& right) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t row = 0; row < right.size(); row += 4) {
    int digit = 0;
    for (size_t i = row; i < row + 4; ++i) {
      digit = digit * 2 + (i < right.size() && right[i] ? 1 : 0);
    }
    hex.push_back(kDigits[digit]);
  }
  return hex;
}

Result<Baseline> ParseBaseline(std::string_view text) {
  if (JsonIsTooDeep(text)) return NoBaseline("JSON nested too deep");
  if (HasNulByte(text)) return NoBaseline("not well-formed JSON, which has no NUL byte");
  const Json json = ParseFields(text);
  if (!json.is_object()) return NoBaseline("no JSON object");
  for (const char* field : kFields) {
    if (!json.contains(field)) return NoBaseline("no \"" + std::string(field) + "\"");
  }
  const Json& examples = json[Baseline::kExamplesField];
  const Json& rows = json[Baseline::kRowsField];
  const Json& right = json[Baseline::kRightField];
  if (!examples.is_number_unsigned() || !rows.is_string() || !right.is_string()) {
    return NoBaseline("a field is of another type");
  }
  Baseline baseline;
  auto digest = ParseDigest(rows.get_ref<const std::string&>());
  if (!digest.ok()) return NoBaseline("\"rows_digest\" is no digest");
  baseline.rows = *digest;
  STI_RETURN_IF_ERROR(
      ReadBits(right.get_ref<const std::string&>(), examples.get<uint64_t>(), &baseline.right));
  return baseline;
}

Status CheckRows(const Baseline& baseline, const Digest& rows, uint64_t count) {
  if (baseline.rows == rows && baseline.right.size() == count) return {};
  return ForeignError("was measured on " + std::to_string(baseline.right.size()) + " rows, " +
                      baseline.rows.Prefix() + ", and these are " + std::to_string(count) + ", " +
                      rows.Prefix() + "; measure a baseline on this data");
}

Comparison Compare(const Baseline& baseline, const std::vector<bool>& right) {
  Comparison compared;
  for (size_t row = 0; row < right.size(); ++row) {
    const bool before = baseline.right[row];
    compared.right_before += before ? 1 : 0;
    compared.gained += right[row] && !before ? 1 : 0;
    compared.lost += before && !right[row] ? 1 : 0;
  }
  compared.p_value = McNemarExact(compared.gained, compared.lost);
  return compared;
}

namespace {

constexpr double kNormalQuantile = 1.959963984540054;  // 97.5 % of a normal distribution

}  // namespace

ShareInterval WilsonInterval(uint64_t right, uint64_t examples) {
  if (examples == 0) return {};
  const auto n = static_cast<double>(examples);
  const double share = static_cast<double>(right) / n;
  const double z2 = kNormalQuantile * kNormalQuantile;
  const double middle = share + z2 / (2 * n);
  const double reach = kNormalQuantile * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  // Where none or all are right a bound is exact, which rounding would miss.
  const double low = right == 0 ? 0 : (middle - reach) / (1 + z2 / n);
  const double high = right == examples ? 1 : (middle + reach) / (1 + z2 / n);
  return {std::max(low, 0.0), std::min(high, 1.0)};
}

// Twice the lower tail of Binomial(n, 1/2) up to k. Terms fall from k down, so that few count.
double McNemarExact(uint64_t gained, uint64_t lost) {
  const auto n = static_cast<double>(gained + lost);
  const auto k = static_cast<double>(std::min(gained, lost));
  double term = 1;  // as a multiple of the largest
  double tail = 0;
  for (double i = k; i >= 0 && term > tail * 1e-18; --i) {
    tail += term;
    term *= i / (n - i + 1);
  }
  const double log_largest =
      std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0);
  return std::min(1.0, 2 * tail * std::exp(log_largest));
}

}  // namespace sti
