#include "format/plan_file.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/remedy.h"
#include "format/framed_file.h"
#include "format/json_fields.h"
#include "format/plan_file_parts.h"
#include "types/plan_check.h"

namespace sti {

Error PlanError(const std::string& name, const std::string& problem) {
  return DataError(problem).At(name).Fix(Remedy::kCorrectPlan);
}

void SetStrategy(std::string name, Plan* plan) {
  plan->strategy = ParseStrategy(name);
  plan->other_strategy = plan->strategy == Strategy::kOther ? std::move(name) : "";
}

Result<Plan> ParsePlan(std::span<const uint8_t> bytes, const std::string& name) {
  return ParsePlanNoting(bytes, name, nullptr);
}

Result<Plan> ParsePlanNoting(std::span<const uint8_t> bytes, const std::string& name,
                             UnknownKeys* unknown) {
  STI_ASSIGN_OR_RETURN(Plan plan, LooksLikeJson(bytes) ? PlanFromJson(bytes, name, unknown)
                                                       : PlanFromBinary(bytes, name));
  if (const auto fault = FindPlanFault(plan, {})) return PlanError(name, fault->text());
  return plan;
}

std::vector<uint8_t> EncodePlan(const Plan& plan) {
  return WrapFrame(kPlanMagic, PlanPayload(plan));
}

std::string PlanToJson(const Plan& plan) { return PrintJson(PlanJson(plan)); }

}  // namespace sti
