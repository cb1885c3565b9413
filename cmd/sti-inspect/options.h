// The command line of sti-inspect.
#pragma once

#include <string>

#include "common/tool.h"

namespace sti {

struct InspectOptions {
  std::string file;
  bool verify = false;
  bool tokenize = false;
  bool pairs = false;
  bool offsets = false;
  uint32_t export_bits = 0;  ///< 0: no export
  std::string output;
};

void AddInspectOptions(CLI::App& app, InspectOptions& options);
Status CheckInspectOptions(const CLI::App& app, const InspectOptions& options);

}  // namespace sti
