// Parts of a measurement put together again.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "types/importance.h"
#include "types/importance_part.h"

namespace sti {

struct NamedPart {
  std::string name;  ///< its file, for messages
  ImportancePart part;
};

/// Returns what the first job has that the second has not, as "another model (1234…, not abcd…)";
/// empty if nothing.
std::string DifferenceOf(const ImportanceJob& job, const ImportanceJob& other);

/// Returns the importance that an undivided measurement gives, to the bit. The parts may come in
/// any order and be cut in any way, as long as they cover the work once. Errors name the files:
/// kDamaged where they leave gaps, overlap or are unfinished, kForeign where they are of another
/// model, data, metric, kernel or other options.
Result<Importance> JoinImportanceParts(std::vector<NamedPart> parts);

}  // namespace sti
