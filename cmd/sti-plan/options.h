#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tool.h"
#include "plan/planner.h"

namespace sti {

struct PlanOptions {
  std::string model;
  std::string profile;
  std::string importance;
  std::string output;
  std::string check;
  std::string risk = "p99";
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> freqs;  ///< kHz
  PlanRequest request;
  bool explain = false;
};

void AddPlanOptions(CLI::App& app, PlanOptions& options);
Status CheckPlanOptions(PlanOptions& options);

}  // namespace sti
