#include "kernels/linear.h"

#include <cstring>
#include <utility>

#include "kernels/elementwise.h"
#include "kernels/lowp/targets.h"

namespace sti {

Result<std::unique_ptr<Linear>> Linear::Create(const Arithmetic& arithmetic, ThreadPool& pool,
                                               Activation activation) {
  const ComputeType type = arithmetic.type;
  const std::string name(NameOf(type));
  if (arithmetic.backend == Backend::kOpenBlas) {
    if (type == ComputeType::kFp32) return MakeBlasLinear(pool, activation);
    return MachineError("OpenBLAS does not compute in " + name +
                        ": use the native kernels, or fp32");
  }
  if (type == ComputeType::kFp32) return MakeNativeLinear(pool, activation);
  if (!HasPackedInstructions(type)) {
    return MachineError("this CPU has no " + name +
                        " products: use fp32, or make the plan from a profile of this machine");
  }
  return MakePackedLinear(type, pool, activation);
}

OutputTile OutputTile::Of(const LinearGroup& group, uint32_t rows, uint32_t out, uint32_t width,
                          float* spare) {
  OutputTile tile{group, rows, out, width, group.out + out, group.out_stride};
  if (group.epilogue == Epilogue::kTranspose) {
    tile.data = spare;
    tile.stride = width;
  }
  return tile;
}

void OutputTile::Finish(Activation activation) const {
  if (group.epilogue == Epilogue::kTranspose) {
    TransposeTile(data, stride, rows, width, group.out + out * group.out_stride, group.out_stride);
  } else if (group.epilogue == Epilogue::kActivate) {
    Activate(activation, data, stride, rows, width);
  }
}

double DecodeMeter::Take(std::span<DecodeMeter> meters) {
  double total_us = 0;
  for (DecodeMeter& meter : meters) total_us += std::exchange(meter.time_us, 0);
  return total_us / static_cast<double>(meters.size());
}

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
