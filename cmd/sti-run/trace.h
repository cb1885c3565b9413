#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/pipeline.h"

namespace sti {

/// Collects runs and writes them as Chrome trace events: one row for IO, one for compute.
class TraceWriter {
 public:
  void Add(const RunResult& run);
  [[nodiscard]] Status Write(const std::string& path) const;

 private:
  std::vector<RunResult> runs_;
};

}  // namespace sti
