// The gradients of the losses of types/score.h at what the head gives: logits, or embeddings.
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

/// Writes the gradient of Cosine(a, b) with respect to `a` [values] to `gradient` [values]. It is 0
/// along `a`, whose length does not count. Neither vector is all zero. Thread-safe.
void CosineGradient(std::span<const float> a, std::span<const float> b, float* gradient);

/// Writes to `gradient` [values] the gradient of an embedding's part along a direction, once it is
/// of unit length. The direction has the length sqrt(values), and all its numbers are 1 or -1, as
/// `number` draws them: so the square of what a change adds to that part is on average, over
/// numbers, the square of the change's own length. The same on every machine; thread-safe.
void DirectionGradient(std::span<const float> embedding, uint64_t number, float* gradient);

}  // namespace sti
