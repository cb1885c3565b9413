#include "verdicts.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/parse.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ToJson(const PlanCheck& check) {
  Json json;
  json["valid"] = check.valid;
  json["problem"] = check.problem.empty() ? Json(nullptr) : Json(check.problem);
  json["aib_us"] = check.aib_us;
  json["slack_us"] = OrNull(check.slack_us);
  json["predicted_latency_us"] = check.latency_us;
  json["predicted_p99_us"] = check.p99_us;
  json["predicted_peak_bytes"] = check.peak_bytes;
  json["staging_bytes"] = check.staging_bytes;
  json["predicted_loss"] = OrNull(check.loss);
  json["predicted_accuracy"] = OrNull(check.accuracy);
  json["preload_bytes"] = check.preload_bytes;
  json["parameter_bytes"] = check.parameter_bytes;
  return json;
}

void PrintVerdict(const std::string& name, const PlanCheck& check) {
  std::printf("%s: latency %s predicted, p99 %s, %s\n", name.c_str(),
              FormatTimeUs(check.latency_us).c_str(), FormatTimeUs(check.p99_us).c_str(),
              check.valid ? "valid" : "not valid");
}

}  // namespace

std::string Verdicts::problem() const {
  if (!plan.valid) return plan.problem;
  for (size_t i = 0; i < variants.size(); ++i) {
    if (!variants[i].valid) return "variant " + std::to_string(i + 1) + " " + variants[i].problem;
  }
  for (size_t i = 0; i < turns.size(); ++i) {
    if (!turns[i].valid) return "turn " + std::to_string(i + 1) + " " + turns[i].problem;
  }
  return "";
}

Result<Verdicts> Judge(const PlanInput& input, const PlanRequest& request, const Plan& plan) {
  Verdicts verdicts;
  STI_ASSIGN_OR_RETURN(verdicts.plan, CheckPlan(input, request, plan));
  for (const Plan& variant : plan.variants) {
    STI_ASSIGN_OR_RETURN(PlanCheck check, CheckPlan(input, request, variant));
    verdicts.variants.push_back(std::move(check));
  }
  STI_ASSIGN_OR_RETURN(verdicts.turns, CheckTurns(input, request, plan));
  return verdicts;
}

std::string VerdictsToJson(const Verdicts& verdicts) {
  Json json = ToJson(verdicts.plan);
  json["variants"] = Json::array();
  for (const PlanCheck& check : verdicts.variants) json["variants"].push_back(ToJson(check));
  json["turns"] = Json::array();
  for (const PlanCheck& check : verdicts.turns) {
    Json turn = ToJson(check);
    turn["read_bytes"] = check.parameter_bytes;
    turn.erase("parameter_bytes");
    turn.erase("predicted_peak_bytes");
    turn.erase("staging_bytes");
    json["turns"].push_back(std::move(turn));
  }
  return json.dump();
}

void PrintVerdicts(const Verdicts& verdicts, const Plan& plan) {
  for (size_t k = 0; k < verdicts.plan.aib_us.size(); ++k)
    std::printf("AIB(%zu) = %.1f us left\n", k, verdicts.plan.aib_us[k]);
  for (size_t i = 0; i < verdicts.variants.size(); ++i) {
    PrintVerdict("variant of up to " + std::to_string(plan.variants[i].length) + " tokens",
                 verdicts.variants[i]);
  }
  for (size_t i = 0; i < verdicts.turns.size(); ++i)
    PrintVerdict("turn " + std::to_string(i + 1), verdicts.turns[i]);
  std::printf("latency %s predicted, p99 %s\n", FormatTimeUs(verdicts.plan.latency_us).c_str(),
              FormatTimeUs(verdicts.plan.p99_us).c_str());
  std::printf("%s\n", verdicts.problem().empty() ? "valid" : "not valid");
}

}  // namespace sti
