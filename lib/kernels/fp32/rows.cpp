// Rows of floats set and turned around.
#include <cstring>

#include "kernels/elementwise.h"

namespace sti {

void FillRows(const float* bias, uint32_t width, uint32_t rows, float* out, size_t out_stride) {
  // Rows of a tile are short: a call of memcpy for each takes longer than the copy.
  for (uint32_t r = 0; r < rows; ++r) {
    float* row = out + r * out_stride;
    uint32_t o = 0;
    for (; o + 16 <= width; o += 16) std::memcpy(row + o, bias + o, 16 * sizeof(float));
    for (; o < width; ++o) row[o] = bias[o];
  }
}

void TransposeTile(const float* tile, size_t tile_stride, uint32_t rows, uint32_t width, float* out,
                   size_t out_stride) {
  for (uint32_t c = 0; c < width; ++c) {
    for (uint32_t r = 0; r < rows; ++r) out[c * out_stride + r] = tile[r * tile_stride + c];
  }
}

}  // namespace sti
