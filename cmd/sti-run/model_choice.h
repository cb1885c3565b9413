// The values of sti-run --model, each a model with its name and plan.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sti {

/// One of several models, as --model names it.
struct ModelChoice {
  std::string name;
  std::string model;
  std::string plan;  ///< empty: none
};

/// Reads values of --model, NAME=FILE or NAME=FILE,PLAN. The last comma is the one before the plan,
/// so that a container whose path has a comma and that has no plan is written with a comma at its
/// end. A name is 1 to 64 letters, digits, points, dashes and underscores, and no other model's.
/// kUsage for what breaks these rules.
Result<std::vector<ModelChoice>> ParseModelChoices(const std::vector<std::string>& values);

}  // namespace sti
