#pragma once

#include <cstdint>
#include <string>

#include "common/tool.h"

namespace sti {

/// What the command line says.
struct ImportanceToolOptions {
  std::string model;
  std::string data;
  std::string output;
  std::string metric = "accuracy";
  uint32_t threads = AvailableThreads();
  bool submodels = false;
  bool gains = false;
  std::string show_file;
  std::string svg;
};

void AddImportanceOptions(CLI::App& app, ImportanceToolOptions& options);

/// What a measurement cannot do without.
Status CheckMeasureOptions(const ImportanceToolOptions& options);

}  // namespace sti
