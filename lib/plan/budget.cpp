#include "plan/budget.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sti {
namespace {

/// Returns what the words of the head take of the budget of its start. It computes with a group as
/// the next one is read, so either the first group counts, or all less what is computed meanwhile.
double WordsIo(const ComputeLane& lane) {
  const WordReads& words = lane.words;
  if (words.groups == 0) return 0;
  return std::max(words.load_us, words.io_us() - (words.groups - 1) * lane.GroupUs());
}

}  // namespace

std::vector<double> Budget::Capacities() const {
  const double first_us = target_us ? slack_us() + wake_us - lane.fixed.embed_io_us
                                    : std::numeric_limits<double>::infinity();
  std::vector<double> capacities = ResidentIo(lane);
  double resident_us = 0;
  for (size_t k = 0; k < capacities.size(); ++k) {
    resident_us += capacities[k];
    capacities[k] = first_us + lane.UntilUs(k) - resident_us;
    if (target_us && !give_up_us.empty()) {
      capacities[k] =
          std::min(capacities[k], *target_us - give_up_us[k] + wake_us - lane.fixed.embed_io_us);
    }
  }
  return capacities;
}

std::vector<double> ResidentIo(const ComputeLane& lane) {
  std::vector<double> resident_us(lane.layers);
  if (resident_us.empty()) return resident_us;
  double head_us = WordsIo(lane);
  if (!lane.resident_us.empty()) {
    std::copy_n(lane.resident_us.begin(), resident_us.size(), resident_us.begin());
    head_us += lane.resident_us.back();
  }
  resident_us.back() += std::max(0.0, head_us - lane.LayerUs(lane.layers - 1));
  return resident_us;
}

std::vector<double> ComputeAibs(double bonus_us, double slack_us, const ComputeLane& lane,
                                std::span<const double> layer_io_us) {
  std::vector<double> aibs;
  aibs.reserve(layer_io_us.size());
  const double first_us = bonus_us + slack_us - lane.fixed.embed_io_us;
  double spent_us = 0;
  for (size_t k = 0; k < layer_io_us.size(); ++k) {
    spent_us += layer_io_us[k];
    const double left_us = first_us + lane.UntilUs(k) - spent_us;
    aibs.push_back(std::abs(left_us) <= kTimeTolerance_us ? 0.0 : left_us);
  }
  return aibs;
}

bool AibsValid(std::span<const double> aib_us) {
  return std::all_of(aib_us.begin(), aib_us.end(), [](double left_us) { return left_us >= 0; });
}

bool KeepsWithin(std::span<const double> capacities_us, double wake_us,
                 std::span<const double> layer_io_us) {
  // The embedding rows can only be read once the text is there.
  if (capacities_us[0] - wake_us < -kTimeTolerance_us) return false;
  double spent_us = 0;
  for (size_t k = 0; k < layer_io_us.size(); ++k) {
    spent_us += layer_io_us[k];
    if (capacities_us[k] - spent_us < -kTimeTolerance_us) return false;
  }
  return true;
}

double LeastTarget(const Budget& budget, std::span<const double> layer_io_us) {
  const ComputeLane& lane = budget.lane;
  double late_us = lane.fixed.embed_io_us;
  // The rows come behind the text, whatever the lead has brought.
  if (!budget.give_up_us.empty())
    late_us = std::max(late_us, late_us + budget.give_up_us[0] - lane.compute_us());
  double io_us = lane.fixed.embed_io_us - budget.wake_us;
  const std::vector<double> resident_us = ResidentIo(lane);
  for (size_t k = 0; k < layer_io_us.size(); ++k) {
    io_us += resident_us[k] + layer_io_us[k];
    late_us = std::max(late_us, io_us - lane.UntilUs(k));
    if (!budget.give_up_us.empty())
      late_us = std::max(late_us, io_us + budget.give_up_us[k] - lane.compute_us());
  }
  return late_us + lane.compute_us();
}

}  // namespace sti
