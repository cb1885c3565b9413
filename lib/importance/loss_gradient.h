// The gradients of the losses of types/score.h at the logits.
#pragma once

#include <cstdint>
#include <span>

#include "types/model_info.h"

namespace sti {

/// Gradient of Judge(problem, logits, truth).loss at the logits: `gradient` [labels]. Thread-safe.
void LossGradient(Problem problem, std::span<const float> logits, std::span<const uint32_t> truth,
                  float* gradient);

/// Gradient of Divergence(problem, reference, logits) at the logits: `gradient` [labels].
/// Thread-safe.
void DivergenceGradient(Problem problem, std::span<const float> reference,
                        std::span<const float> logits, float* gradient);

}  // namespace sti
