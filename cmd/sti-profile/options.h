// The command line of sti-profile and of its subcommand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/tool.h"
#include "profile/profile.h"

namespace sti {

/// Holds the options. MODEL and what is measured are not used by merge.
struct ProfileToolOptions {
  std::string model;
  std::string output;
  std::vector<uint32_t> lengths;  ///< empty: as UsualLengths has them
  std::vector<uint32_t> widths;
  std::vector<uint32_t> batches;  ///< inputs of passes; 1 is measured too
  uint32_t threads = 0;
  std::vector<uint32_t> cpus;
  double gap_us = 0;
  double precision = 0.02;
  double budget_us = 0;
  std::string io = "auto";
  std::string compute = "fp32";
  std::string instructions;              ///< set that kernels keep to; empty: the best here
  std::vector<uint32_t> clocks_khz;      ///< to measure at; empty: the clock as it is
  std::vector<std::string> merge_files;  ///< profiles that merge joins
};

void AddProfileToolOptions(CLI::App& app, ProfileToolOptions& options);

/// Returns kUsage for options that make no sense together, or where one that is needed is missing.
Status CheckProfileToolOptions(const CLI::App& app, const ProfileToolOptions& options);

}  // namespace sti
