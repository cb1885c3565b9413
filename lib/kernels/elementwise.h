// What a layer does beside matrix products. All of these give the same bits for the same row,
// wherever it lies; NaN and infinities go through. All are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types/model_info.h"

namespace sti {

/// x = activation(x) for `rows` rows of `width` numbers, `stride` apart. kGelu is the erf form,
/// within 1e-6 of it.
void Activate(Activation activation, float* x, size_t stride, uint32_t rows, uint32_t width);

/// x = softmax(scale * x) over `count` > 0 numbers.
void SoftmaxRow(float* x, uint32_t count, float scale);

/// out = norm(x + y) * weight + bias over `count` numbers, variance + eps under the root. `y` may
/// be null; `out` may be x or y.
void LayerNormRow(const float* x, const float* y, const float* weight, const float* bias,
                  uint32_t count, float eps, float* out);

/// x = tanh(x), `count` numbers.
void TanhRow(float* x, uint32_t count);

/// Sum of a[i] * b[i].
float Dot(const float* a, const float* b, uint32_t count);

}  // namespace sti
