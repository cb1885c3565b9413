// The gradients of the losses of types/score.h at the logits.
#pragma once

#include <cstdint>
#include <span>

#include "types/model_info.h"

namespace sti {

/// Writes the gradient of Judge(problem, logits, truth).loss with respect to `logits` [labels] to
/// `gradient` [labels]. `truth` has the ids of the labels that apply, exactly one where the problem
/// is kSingleLabel. Thread-safe.
void LossGradient(Problem problem, std::span<const float> logits, std::span<const uint32_t> truth,
                  float* gradient);

/// Writes the gradient of Divergence(problem, reference, logits) with respect to `logits` [labels]
/// to `gradient` [labels]. `reference` [labels] are the logits of the model that is compared with.
/// Thread-safe.
void DivergenceGradient(Problem problem, std::span<const float> reference,
                        std::span<const float> logits, float* gradient);

}  // namespace sti
