// Cascades, measured: what submodels of one container reach as levels (Tabi). Each level is
// calibrated, and every pair and triple of levels is counted under several cuts and prunings.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "importance/measure.h"
#include "io/container_file.h"
#include "text/dataset.h"
#include "text/tokenizer.h"
#include "types/importance.h"
#include "types/importance_part.h"

namespace sti {

/// Most levels that are measured: the number of pairs and triples of them grows by its cube.
inline constexpr size_t kMostCascadeLevels = 6;
/// Most values of α above 0.
inline constexpr size_t kMostAlphas = 10;

/// Says which cascades are measured.
struct CascadeChoice {
  std::vector<SubmodelCell> levels;  ///< any order; empty: DefaultCascadeLevels
  std::vector<double> alphas;        ///< above 0, at most 1, ascending; 0 is measured besides
};

/// The results of a measurement of cascades, as Importance has them.
struct CascadeScores {
  std::vector<CascadeLevelScore> levels;
  std::vector<CascadeScore> cascades;
};

/// Returns the levels that are measured where nobody says which: about a third and two thirds of
/// the layers at a quarter of their width, and the whole model.
std::vector<SubmodelCell> DefaultCascadeLevels(const ContainerIndex& index);

/// Returns kUsage if the choice is not one of this model: another submodel or bitwidth, fewer than
/// two levels, or a model that gives several labels; a DataError if an example has no label.
Status CheckCascades(const ContainerIndex& index, std::span<const Example> examples,
                     const CascadeChoice& choice);

/// Measures cascades on examples. Of `options` threads, compute and cancelled count, and progress,
/// in runs of a level over all examples. Errors are those of CheckCascades, and DataErrors of
/// weights that overflow. The same result for any thread count.
Result<CascadeScores> MeasureCascades(ContainerFile file, const Tokenizer& tokenizer,
                                      std::span<const Example> examples,
                                      const CascadeChoice& choice,
                                      const ImportanceOptions& options);

}  // namespace sti
