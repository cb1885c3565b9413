#include "kernels/dense.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "kernels/gemm.h"

namespace sti {
namespace {

constexpr uint32_t kPanel = 16;
constexpr uint32_t kTileWidth = 2 * kPanel;
constexpr uint32_t kInputs = 256;   // inputs at a time: their tile stays in the first-level cache
constexpr uint32_t kTaskRows = 96;  // rows of a task where tiles are too few to share out

// b's inputs [in, in + ins) of outputs [out, out + width), as [ins, kTileWidth].
void CopyTile(const DenseProduct& p, uint32_t in, uint32_t ins, uint32_t out, uint32_t width,
              float* tile) {
  if (p.transposed) {
    for (uint32_t o = 0; o < width; ++o) {
      const float* row = p.b + (out + o) * p.b_stride + in;
      for (uint32_t k = 0; k < ins; ++k) tile[k * kTileWidth + o] = row[k];
    }
    return;
  }
  for (uint32_t k = 0; k < ins; ++k) {
    std::memcpy(tile + k * kTileWidth, p.b + (in + k) * p.b_stride + out, width * sizeof(float));
  }
}

void MultiplyTile(const DenseProduct& p, uint32_t row, uint32_t rows, uint32_t out,
                  uint32_t width) {
  alignas(64) std::array<float, size_t{kInputs} * kTileWidth> tile;  // written before it is read
  if (width < kTileWidth) tile.fill(0);
  for (uint32_t in = 0; in < p.ins; in += kInputs) {
    const uint32_t ins = std::min(kInputs, p.ins - in);
    CopyTile(p, in, ins, out, width, tile.data());
    MultiplyPanels({.a = p.a + row * p.a_stride + in,
                    .a_stride = p.a_stride,
                    .rows = rows,
                    .ins = ins,
                    .panels = {{tile.data(), kTileWidth}, {tile.data() + kPanel, kTileWidth}},
                    .c = p.c + row * p.c_stride + out,
                    .c_stride = p.c_stride,
                    .width = width,
                    .start = p.accumulate || in > 0 ? nullptr : kFromZero});
  }
}

}  // namespace

void MultiplyDense(const DenseProduct& product, ThreadPool& pool) {
  assert(product.ins > 0);
  const uint32_t tiles = (product.outs + kTileWidth - 1) / kTileWidth;
  const bool split = pool.threads() > 1 && tiles < 4 * pool.threads();
  const uint32_t height = split ? kTaskRows : product.rows;
  const uint32_t blocks = height == 0 ? 0 : (product.rows + height - 1) / height;
  pool.ParallelFor(tiles * blocks, [&](uint32_t index, uint32_t) {
    const uint32_t out = index % tiles * kTileWidth;
    const uint32_t row = index / tiles * height;
    MultiplyTile(product, row, std::min(height, product.rows - row), out,
                 std::min(kTileWidth, product.outs - out));
  });
}

void MultiplySmall(const DenseProduct& product) {
  assert(!product.transposed);
  for (uint32_t out = 0; out < product.outs; out += kTileWidth) {
    const float* b = product.b + out;
    MultiplyPanels({.a = product.a,
                    .a_stride = product.a_stride,
                    .rows = product.rows,
                    .ins = product.ins,
                    .panels = {{b, product.b_stride}, {b + kPanel, product.b_stride}},
                    .c = product.c + out,
                    .c_stride = product.c_stride,
                    .width = std::min(kTileWidth, product.outs - out),
                    .start = product.accumulate ? nullptr : kFromZero});
  }
}

}  // namespace sti
