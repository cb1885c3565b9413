// Warnings of sti-importance: its result will mean little, though the measurement goes on.
#pragma once

#include <span>
#include <string>

#include "common/tool.h"
#include "importance/metric.h"
#include "text/dataset.h"
#include "types/importance.h"
#include "types/model_info.h"

namespace sti {

/// Warns if all examples have one label, since a model that always says it is right on all of them.
/// Does nothing for kl, which takes no labels.
void WarnOfOneLabel(const Tool& tool, const std::string& data, std::span<const Example> examples,
                    const ModelInfo& info, Metric metric);

/// Warns if the ranking is mostly noise.
void WarnOfNoise(const Tool& tool, const Importance& importance);

}  // namespace sti
