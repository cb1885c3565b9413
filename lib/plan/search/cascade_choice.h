// The choice of a cascade (Tabi 5) among those that were measured: the least mean latency of all
// that are accurate enough, or what the paper's heuristic finds.
#pragma once

#include <optional>

#include "base/result.h"
#include "plan/search/measured_cascades.h"

namespace sti {

/// Returns the cascade with the least mean latency of those that keep target and memory through all
/// levels and reach `least_accuracy`, 0 to 1. Of equal ones the more accurate, then that of fewer
/// levels, then that of fewer words. kInfeasible, with what would do, if there is none.
Result<CascadeCandidate> FastestCascade(const MeasuredCascades& measured, double least_accuracy);

/// Returns kInfeasible: no cascade keeps target and memory and reaches `least_accuracy`.
Error NoCascade(const MeasuredCascades& measured, double least_accuracy);

/// Adds a line on the choice to what the context explains.
void SayChoice(const MeasuredCascades& measured, const CascadeCandidate& choice);

/// Returns the cascade that the heuristic of Tabi 5 finds, by steps as printed, on what was
/// measured:
///
///   Combinations  Those whose accuracies rise from level to level.
///   c             From 0.95 down by 0.05, each time the next measured cut, until the accuracy is
///                 below the mean of the levels' own. For each slope; w in proportion to accuracy.
///   alpha         None, then from 0.5 up by 0.1, until the last level's answers lose over 2 %.
///   p75           Of a path must be within 1.5 times the slowest level alone.
///
/// The least mean latency wins, of equal ones that of fewer words. `least_accuracy` is asked for
/// besides, where given. kInfeasible if nothing is left.
Result<CascadeCandidate> CascadeByTabi(const MeasuredCascades& measured,
                                       std::optional<double> least_accuracy);

}  // namespace sti
