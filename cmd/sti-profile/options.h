#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "common/tool.h"
#include "profile/profile.h"

namespace sti {

struct ProfileToolOptions {
  std::string model;
  std::string output;
  std::vector<uint32_t> lengths{std::begin(kUsualLengths), std::end(kUsualLengths)};
  std::vector<uint32_t> widths;
  uint32_t threads = 0;
  std::vector<uint32_t> cpus;
  double gap_us = 0;
  double precision = 0.02;
  double budget_us = 0;
  std::string io = "auto";
  std::string compute = "fp32";
};

void AddProfileToolOptions(CLI::App& app, ProfileToolOptions& options);

}  // namespace sti
