#include "kernels/linear.h"

#include <cstring>

namespace sti {

Result<std::unique_ptr<Linear>> Linear::Create(Backend backend, ThreadPool& pool,
                                               Activation activation) {
  if (backend == Backend::kOpenBlas) return MakeBlasLinear(pool, activation);
  return MakeNativeLinear(pool, activation);
}

void FillRows(const float* bias, uint32_t width, uint32_t rows, float* out, size_t out_stride) {
  for (uint32_t r = 0; r < rows; ++r)
    std::memcpy(out + r * out_stride, bias, width * sizeof(float));
}

void TransposeTile(const float* tile, size_t tile_stride, uint32_t rows, uint32_t width, float* out,
                   size_t out_stride) {
  for (uint32_t c = 0; c < width; ++c) {
    for (uint32_t r = 0; r < rows; ++r) out[c * out_stride + r] = tile[r * tile_stride + c];
  }
}

}  // namespace sti
