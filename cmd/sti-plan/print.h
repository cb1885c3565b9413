// The answers of sti-plan as text and as JSON: the verdicts of --check on a plan, its variants and
// its turns; and a grid of targets and preload buffers.
#pragma once

#include <string>
#include <vector>

#include "plan/judge.h"
#include "plan/stages.h"
#include "plan/sweep.h"

namespace sti {

/// At most 80 columns; a star at each plan of the front.
std::string SweepText(const SweepGrid& grid);

/// One object: what quality means, and a row a cell.
std::string SweepJson(const SweepGrid& grid);

/// A line a bound of memory.
std::string MemoriesText(const std::vector<MemoryCell>& cells);

/// One object, with a row a bound of memory.
std::string MemoriesJson(const std::vector<MemoryCell>& cells);

/// Returns one object in one line.
std::string VerdictsToJson(const Verdicts& verdicts, bool uncertain);

/// Returns one object in one line: the stages of a plan with the figures that they have on a
/// cluster, and what they come to.
std::string StageVerdictsToJson(const StageVerdicts& verdicts);

/// Prints lines for people; the last is "valid" or "not valid".
void PrintVerdicts(const Verdicts& verdicts, const Plan& plan, bool uncertain);

}  // namespace sti
