// The command line of sti-plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/tool.h"
#include "plan/request.h"

namespace sti {

struct PlanOptions {
  std::string model;
  std::string profile;
  std::string importance;
  std::string output;
  std::string check;
  std::string cluster;
  std::vector<uint32_t> microbatches;  ///< of `cluster`; empty: any that was profiled
  std::string strategy = "sti";
  std::string risk = "p99";
  std::vector<uint32_t> lengths;
  std::vector<uint32_t> freqs;  ///< kHz
  PlanRequest request;
  ModeOptions modes;  ///< said in `request` once they are checked
  bool cascade = false;
  CascadeWish cascade_wish;  ///< counts with `cascade`
  bool explain = false;
  std::string gantt;
  bool sweep = false;
  std::vector<double> targets_us;
  std::vector<uint64_t> preloads;
  std::vector<uint64_t> memories;
  std::string sweep_svg;
};

void AddPlanOptions(CLI::App& app, PlanOptions& options);
Status CheckPlanOptions(PlanOptions& options, const Tool& tool);

}  // namespace sti
