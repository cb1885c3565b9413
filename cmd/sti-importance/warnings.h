// What is worth a word though the measurement goes on.
#pragma once

#include <span>
#include <string>

#include "common/tool.h"
#include "text/dataset.h"
#include "types/importance.h"
#include "types/model_info.h"

namespace sti {

/// Examples that all have one label: a model that always says it is right on all of them. kl takes
/// no labels, and no such warning.
void WarnOfOneLabel(const Tool& tool, const std::string& data, std::span<const Example> examples,
                    const ModelInfo& info, const std::string& metric);

/// A ranking that is mostly noise.
void WarnOfNoise(const Tool& tool, const Importance& importance);

}  // namespace sti
