// The answer of --check as text: the verdicts on a plan, its variants and its turns.
#pragma once

#include <string>

#include "plan/judge.h"

namespace sti {

/// Returns one object in one line.
std::string VerdictsToJson(const Verdicts& verdicts, bool uncertain);

/// Prints lines for people; the last is "valid" or "not valid".
void PrintVerdicts(const Verdicts& verdicts, const Plan& plan, bool uncertain);

}  // namespace sti
