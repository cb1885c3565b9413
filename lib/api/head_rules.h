// The rules of what a session may be asked, which follow from its model's head: labels of texts go
// through cascades and have turns, vectors compare under one plan alone, and tokens are of one
// text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/session.h"
#include "base/result.h"
#include "format/container_index.h"
#include "types/model_info.h"
#include "types/plan.h"

namespace sti {

/// Returns kUsage if a plan is for other heads: vectors that it gives would not compare, or it has
/// a cascade or turns and the model labels tokens. kForeign if it has a batch of texts, which
/// stages alone take.
Status CheckPlanForHead(const Plan& plan, const ModelInfo& info, bool is_stage = false);

/// Returns kUsage if the options ask of a model what its head does not give.
Status CheckOptionsForHead(const SessionOptions& options, const ModelInfo& info);

/// Returns a kForeign error unless label vectors are of this model under this plan, and of texts
/// with this prefix and so many dimensions; an empty prefix and no dimensions are any.
Status CheckLabelVectors(const LabelVectors& vectors, const ContainerIndex& index,
                         const PlanCore& plan, const std::string& prefix,
                         std::optional<uint32_t> dimensions);

/// Returns a model with these label vectors, as its answers are.
ModelInfo ClassifierOf(ModelInfo info, const LabelVectors& vectors);

}  // namespace sti
