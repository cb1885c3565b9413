// The functions that a layer computes beside matrix products. Each gives equal bits for equal rows,
// wherever they lie. Results that depend on a NaN are NaN on every instruction set. All functions
// are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "types/model_info.h"

namespace sti {

/// Sets x = activation(x) for `rows` rows of `width` numbers, `stride` >= width apart.
/// kGelu is the erf form, within 5e-7 of it for all finite x (2.6e-7 with AVX-512, where 0
/// gives 0 and what lies beyond 45/8 gives itself or 0); kGeluTanh is within 2e-6 of its form.
/// Above 10 both are x itself; minus infinity gives 0 within these bounds.
void Activate(Activation activation, float* x, size_t stride, uint32_t rows, uint32_t width);

/// Sets x = softmax(scale * x) over `count` > 0 numbers, scale >= 0. A row that has a NaN or plus
/// infinity, or nothing but minus infinity, has no softmax: all of it becomes NaN.
void SoftmaxRow(float* x, uint32_t count, float scale);

/// Sets out = norm(x + y) * weight + bias over `count` > 0 numbers, variance + eps under the root.
/// `y` may be null; `out` may be x or y. Where the variance is not finite, no number of `out` is.
void LayerNormRow(const float* x, const float* y, const float* weight, const float* bias,
                  uint32_t count, float eps, float* out);

/// Adds x to `sums`, `count` numbers.
void AddTo(const float* x, uint32_t count, float* sums);

/// Sets x = tanh(x) within 5e-7, for `count` numbers.
void TanhRow(float* x, uint32_t count);

/// Returns the sum of a[i] * b[i] over `count` numbers.
float Dot(const float* a, const float* b, uint32_t count);

/// Sets out[r] = bias for each of `rows` rows.
void FillRows(const float* bias, uint32_t width, uint32_t rows, float* out, size_t out_stride);

/// Sets out[column * out_stride + row] = tile[row * tile_stride + column].
void TransposeTile(const float* tile, size_t tile_stride, uint32_t rows, uint32_t width, float* out,
                   size_t out_stride);

/// Multiplies gradient[i] by activation'(x[i]), for `count` numbers; x is as before the activation.
/// The derivatives are within 3e-6 of those of the exact forms; ReLU's is 0 at 0.
void ActivationGradient(Activation activation, const float* x, uint32_t count, float* gradient);

/// Turns the gradient at norm(x) * weight + bias into that at x, in place; `count` > 0 numbers.
void LayerNormGradientRow(const float* x, const float* weight, uint32_t count, float eps,
                          float* gradient);

/// Turns the gradient at p = softmax(scale * x) into that at x, in place; `count` > 0 numbers.
void SoftmaxGradientRow(const float* p, uint32_t count, float scale, float* gradient);

}  // namespace sti
