// The parts of attention in bfloat16 (kernels/lowp_attention.h) that are no products: keys and values
// become panels (panels.h), and rows of scores become weights. Each has a plain form and one for the
// CPU's instructions (targets.h); tests compare the two.
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "kernels/gemm.h"
#include "kernels/lowp/panels.h"

namespace sti {

/// Returns the dwords of a head's packed keys, and of its packed values.
constexpr uint64_t PackedKeyDwords(uint32_t tokens, uint32_t head_dim) {
  return RoundUp(tokens, kPanelWidth) * PackedSteps(ComputeType::kBf16, head_dim);
}
constexpr uint64_t PackedValueDwords(uint32_t tokens, uint32_t head_dim) {
  return RoundUp(head_dim, kPanelWidth) * PackedSteps(ComputeType::kBf16, tokens);
}

/// Writes keys [tokens, head_dim] as panels of 16 tokens, each [steps, 16]; zeros past the last
/// token. `out` is aligned to 64 bytes.
void PackKeys(const RowsRef& keys, uint32_t* out);
/// Writes values [tokens, head_dim] as panels of 16 outputs, each [steps, 16]; zeros past the last
/// output. `out` is aligned to 64 bytes.
void PackValues(const RowsRef& values, uint32_t* out);
/// Sets the first `count` > 0 numbers of a row to 2^x over the sum of all 2^x, rounded to halves of
/// PackedSteps(count) dwords; all NaN where SoftmaxRow is. The row is aligned to 64 bytes and has
/// room for `count` rounded up to a multiple of 16.
void SoftmaxPacked(float* row, uint32_t count);

}  // namespace sti
