// The command line of sti-importance and of its subcommands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "common/cli.h"
#include "common/tool.h"
#include "importance/cascades.h"
#include "importance/tally.h"
#include "text/dataset.h"
#include "types/kernel.h"
#include "types/model_info.h"

namespace sti {

/// Whether cascades are measured, and which.
struct CascadeOptions {
  bool wanted = false;
  std::vector<SubmodelCell> levels;  ///< empty: the library's
  std::vector<double> alphas;        ///< empty: 0.3 to 0.9
  /// Returns the choice, with what nobody said filled in.
  [[nodiscard]] CascadeChoice Choice() const;
};

void AddCascadeOptions(CLI::App& app, CascadeOptions& options);

/// Refuses levels and alphas of cascades that are not measured.
Status CheckCascadeOptions(const CascadeOptions& options);

/// The options of the command line, of all subcommands.
struct ImportanceToolOptions {
  std::string model;
  std::string data;
  ColumnChoice columns;  ///< of the data
  std::string prefix;    ///< in front of each text of the data
  std::string output;
  std::optional<Metric> metric;  ///< default: as the model and `quick` have it
  uint32_t threads = AvailableThreads();
  bool submodels = false;
  bool gains = false;
  bool quick = false;
  bool order = false;
  CascadeOptions cascade;
  ComputeType compute = ComputeType::kFp32;
  uint64_t cache_bytes = uint64_t{256} << 20;
  std::pair<uint32_t, uint32_t> part = {1, 1};  ///< i of n
  bool is_part = false;                         ///< --part was given: the output is a part file
  bool resume = false;
  std::vector<std::string> merge_parts;
  std::string show_file;
  std::string show_other;  ///< empty: none
  std::string svg;
  std::string png;
};

void AddImportanceOptions(CLI::App& app, ImportanceToolOptions& options);

/// Refuses options that the subcommand given, if any, would ignore.
Status CheckSubcommandOptions(const CLI::App& app, const ImportanceToolOptions& options);

/// Returns the metric that is asked for, or the one that a model of this head is measured by.
Metric MetricOf(const ImportanceToolOptions& options, const ModelInfo& info);

/// Refuses a measurement that lacks an option it cannot do without.
Status CheckMeasureOptions(const ImportanceToolOptions& options);

}  // namespace sti
