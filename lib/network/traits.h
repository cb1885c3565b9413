// Traits that a network has and those of format 1.3 cannot have. A container says them by name, so
// that a reader refuses one that it does not know and can say which.
#pragma once

#include <string_view>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// Returns the names of a model's traits, in one order; none of a model that 1.3 can say.
std::vector<std::string_view> TraitsOf(const ModelInfo& info);

/// Returns the least minor version of the container format that knows all traits of a model; 0 if
/// it has none.
uint16_t LeastMinorOfTraits(const ModelInfo& info);

/// The name that a container of one stage has besides. It is no trait of a model.
inline constexpr std::string_view kStageTrait = "stage";

/// Returns whether a name is that of a trait that this library computes, or kStageTrait.
bool IsKnownTrait(std::string_view name);

}  // namespace sti
