// The options that say which cascades are measured.
#pragma once

#include <vector>

#include "base/result.h"
#include "common/cli.h"
#include "importance/cascades.h"

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

}  // namespace sti
