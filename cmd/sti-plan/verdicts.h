// What --check finds: a plan, its variants and its turns, each judged.
#pragma once

#include <string>
#include <vector>

#include "plan/evaluation.h"

namespace sti {

struct Verdicts {
  PlanCheck plan;
  std::vector<PlanCheck> variants;
  std::vector<PlanCheck> turns;

  /// The first reason why something is not valid; empty if all is.
  [[nodiscard]] std::string problem() const;
};

Result<Verdicts> Judge(const PlanInput& input, const PlanRequest& request, const Plan& plan);

/// One object, one line.
std::string VerdictsToJson(const Verdicts& verdicts);

/// Lines for people; the last is "valid" or "not valid".
void PrintVerdicts(const Verdicts& verdicts, const Plan& plan);

}  // namespace sti
