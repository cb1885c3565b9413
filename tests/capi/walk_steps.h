// The steps of a walk through sti.h (walk_test.cpp): which there are, how they are drawn, and how
// one is printed as a call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capi/sti.h"
#include "support/random.h"
#include "walk_plans.h"

namespace sti {

enum class Act : uint8_t {
  kGive,
  kPlan,
  kSet,
  kRun,
  kIds,
  kWake,
  kEndTurns,
  kTrim,
  kCancel,
  kFlash,
  kReopen,
  kFork
};
enum class Flash : int64_t { kWorks, kSlow, kFails, kHangs };

struct Step {
  Act act = Act::kRun;
  size_t model = 0;
  int64_t which = 0;     ///< plan, option, text, flash, or share of what is held
  int64_t value = 0;     ///< of the option
  bool compared = true;  ///< a fresh model is compared with it afterwards, which loads both
};

struct OptionValues {
  int32_t option;
  const char* name;
  std::vector<int64_t> values;
  bool reloads;  ///< a change loads the model again
};

inline const std::vector<OptionValues>& Options() {
  static const std::vector<OptionValues> options{
      {STI_TARGET_US, "STI_TARGET_US", {0, 60'000'000, 20'000'000}, false},
      {STI_PRELOAD_BYTES, "STI_PRELOAD_BYTES", {0, 60'000, 200'000}, false},
      {STI_MEMORY_BYTES, "STI_MEMORY_BYTES", {0, 8'000'000, 1'200'000}, true},
      {STI_LENGTH, "STI_LENGTH", {0, 16}, false},
      {STI_LEAD_TIME_US, "STI_LEAD_TIME_US", {0, 100'000}, false},
      {STI_TURNS, "STI_TURNS", {0, 2}, false},
      {STI_GUARANTEE, "STI_GUARANTEE", {0, 1}, false},
      {STI_LATE, "STI_LATE", {STI_LATE_WAIT, STI_LATE_DEGRADE}, true},
      {STI_COMPUTE,
       "STI_COMPUTE",
       {STI_COMPUTE_AS_PLANNED, STI_COMPUTE_FP32, STI_COMPUTE_INT8},
       true},
      {STI_THRESHOLD_PPM, "STI_THRESHOLD_PPM", {0, 200'000}, false},
      {STI_CLOCK_KHZ, "STI_CLOCK_KHZ", {0, 1'000'000, 2'000'000}, true},
      {STI_LOCK_MEMORY, "STI_LOCK_MEMORY", {0, 1}, true},
      {STI_WINDOW, "STI_WINDOW", {0, 8}, true},
      {99, "99", {1}, false},
  };
  return options;
}

struct Text {
  std::string_view text;
  std::optional<std::string_view> pair;
};

inline constexpr std::string_view kLong =
    "the movie is a good film and the plot is great number 1 the movie is a good film and the plot "
    "is great number 1 the movie is a good film";
inline const Text kWalkTexts[] = {
    {"the movie", {}}, {"", {}}, {kLong, {}}, {"a good film", "is great"}, {"the plot", kLong}};
/// Texts that two models are compared by: one is short enough for variants, one is not.
inline const Text kProbes[] = {{"good movie", {}}, {"the film is a great movie", "a good plot"}};

/// Returns the index of an option in Options().
inline int64_t IndexOf(int32_t option) {
  const auto found = std::ranges::find(Options(), option, &OptionValues::option);
  return found - Options().begin();
}

/// It works as often as not.
inline int64_t FlashOf(const Step& step) { return std::max<int64_t>(0, step.which % 6 - 2); }

/// Every third walk begins under a guarantee, and its flash is bad more often.
inline std::vector<Step> DrawSteps(TestRandom& random, const std::vector<WalkPlan>& plans) {
  std::vector<Step> steps;
  if (random.Below(3) == 0) {
    const auto is_guaranteed = [](const WalkPlan& plan) { return plan.guaranteed; };
    const auto first = std::ranges::find_if(plans, is_guaranteed) - plans.begin();
    const auto count = static_cast<uint64_t>(std::ranges::count_if(plans, is_guaranteed));
    steps.push_back({Act::kSet, 0, IndexOf(STI_LATE), STI_LATE_DEGRADE});
    steps.push_back({Act::kGive, 0, first + static_cast<int64_t>(random.Below(count)), 0});
    steps.push_back({Act::kFlash, 0, static_cast<int64_t>(2 + random.Below(4)), 0});
  }
  const size_t begin = steps.size();
  steps.resize(begin + 12 + random.Below(30));
  for (Step& step : std::span(steps).subspan(begin)) {
    constexpr Act kActs[] = {Act::kGive,  Act::kGive,  Act::kGive,     Act::kPlan,   Act::kSet,
                             Act::kSet,   Act::kSet,   Act::kSet,      Act::kRun,    Act::kRun,
                             Act::kIds,   Act::kWake,  Act::kEndTurns, Act::kTrim,   Act::kTrim,
                             Act::kFlash, Act::kFlash, Act::kCancel,   Act::kReopen, Act::kFork};
    step.act = kActs[random.Below(std::size(kActs))];
    step.model = random.Below(4) == 0 ? 1 : 0;
    step.compared = random.Below(2) == 0;
    step.which = static_cast<int64_t>(random.Below(1000));
    if (step.act == Act::kGive) step.which = static_cast<int64_t>(random.Below(plans.size()));
    if (step.act == Act::kSet) {
      step.which = static_cast<int64_t>(random.Below(Options().size()));
      const auto& values = Options()[static_cast<size_t>(step.which)].values;
      step.value = values[random.Below(values.size())];
    }
  }
  return steps;
}

/// Returns the call that a step is.
inline std::string LineOf(const Step& step, const std::vector<WalkPlan>& plans) {
  const std::string model = step.model == 0 ? "a" : "b";
  const std::string which = std::to_string(step.which);
  switch (step.act) {
    case Act::kGive:
      return "sti_give(" + model + ", STI_PLAN, \"" + plans[static_cast<size_t>(step.which)].name +
             "\")";
    case Act::kPlan:
      return "sti_plan(" + model + ")";
    case Act::kSet:
      return "sti_set(" + model + ", " + Options()[static_cast<size_t>(step.which)].name + ", " +
             std::to_string(step.value) + ")";
    case Act::kRun:
      return "sti_run(" + model + ", text " + std::to_string(step.which % std::ssize(kWalkTexts)) +
             ")";
    case Act::kIds:
      return "sti_run_ids(" + model + ")";
    case Act::kWake:
      return "sti_wake(" + model + ")";
    case Act::kEndTurns:
      return "sti_end_turns(" + model + ")";
    case Act::kTrim:
      return "sti_trim(" + model + ", " + which + " thousandths of what is held)";
    case Act::kCancel:
      return "sti_cancel(" + model + ") within sti_run";
    case Act::kFlash:
      return "flash of " + model + " = " + std::to_string(FlashOf(step));
    case Act::kReopen:
      return "sti_close(" + model + "), sti_open_read";
    case Act::kFork:
      return "fork";
  }
  return "";
}

}  // namespace sti
