#include "pipeline/plan_fit.h"

#include <optional>
#include <string>

#include "base/remedy.h"

namespace sti {

Status CheckPlanComputes(const Plan& plan, ComputeType type) {
  const std::optional<ComputeType> counted = plan.kernel.type;
  if (!counted || *counted == type) return {};
  const std::string wanted(NameOf(*counted));
  return UsageError("the plan counts on " + wanted + " products, not " + std::string(NameOf(type)))
      .Fix(Remedy::kComputeAsPlanned, wanted);
}

}  // namespace sti
