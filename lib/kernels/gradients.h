// Derivatives of what elementwise.h computes, for the backward pass. All are thread-safe and give
// the same bits for the same row, wherever it lies.
#pragma once

#include <cstdint>

#include "types/model_info.h"

namespace sti {

/// gradient[i] *= activation'(x[i]), `count` numbers; x as it was before the activation. The
/// derivatives are within 3e-6 of those of the exact forms; ReLU's is 0 at 0.
void ActivationGradient(Activation activation, const float* x, uint32_t count, float* gradient);

/// Turns the gradient at norm(x) * weight + bias into that at x, in place; `count` > 0 numbers.
void LayerNormGradientRow(const float* x, const float* weight, uint32_t count, float eps,
                          float* gradient);

/// Turns the gradient at p = softmax(scale * x) into that at x, in place; `count` > 0 numbers.
void SoftmaxGradientRow(const float* p, uint32_t count, float scale, float* gradient);

}  // namespace sti
