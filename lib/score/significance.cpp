#include "score/significance.h"

#include <algorithm>
#include <cmath>

namespace sti {
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
