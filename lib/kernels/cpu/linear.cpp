#include "kernels/linear.h"

#include <utility>

#include "kernels/cpu/linear_parts.h"
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

uint64_t Linear::RoomFor(const Arithmetic& arithmetic, const LinearLimits& limits,
                         uint32_t threads) {
  if (arithmetic.backend == Backend::kOpenBlas) return BlasLinearRoom(limits);
  return arithmetic.type == ComputeType::kFp32 ? NativeLinearRoom(limits, threads)
                                               : PackedLinearRoom(arithmetic.type, limits, threads);
}

OutputTile OutputTile::Of(const LinearSum& group, RowRange rows, uint32_t out, uint32_t width,
                          float* spare) {
  float* const place = group.out + rows.first * group.out_stride + out;
  OutputTile tile{group, rows, out, width, place, group.out_stride};
  if (group.epilogue == Epilogue::kTranspose) {
    tile.data = spare;
    tile.stride = width;
  }
  return tile;
}

void OutputTile::Finish(Activation activation) const {
  if (group.epilogue == Epilogue::kTranspose) {
    TransposeTile(data, stride, rows.count, width, group.out + out * group.out_stride + rows.first,
                  group.out_stride);
  } else if (group.epilogue == Epilogue::kActivate) {
    Activate(activation, data, stride, rows.count, width);
  }
}

double DecodeMeter::Take(std::span<DecodeMeter> meters) {
  double total_us = 0;
  for (DecodeMeter& meter : meters) total_us += std::exchange(meter.time_us, 0);
  return total_us / static_cast<double>(meters.size());
}

}  // namespace sti
