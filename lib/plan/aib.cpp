#include "plan/aib.h"

#include <algorithm>
#include <cmath>

namespace sti {

std::vector<double> ComputeAibs(double bonus_us, double slack_us, double embed_io_us,
                                double layer_us, std::span<const double> layer_io_us) {
  std::vector<double> aibs;
  aibs.reserve(layer_io_us.size());
  const double first_us = bonus_us + slack_us - embed_io_us;
  double spent_us = 0;
  for (size_t k = 0; k < layer_io_us.size(); ++k) {
    spent_us += layer_io_us[k];
    const double left_us = first_us + static_cast<double>(k) * layer_us - spent_us;
    aibs.push_back(std::abs(left_us) <= kTimeTolerance_us ? 0.0 : left_us);
  }
  return aibs;
}

bool AibsValid(std::span<const double> aib_us) {
  return std::all_of(aib_us.begin(), aib_us.end(), [](double left_us) { return left_us >= 0; });
}

}  // namespace sti
