// Stands in for OpenBLAS in libsti, which opens no other library and sets no variable of the
// process. The tools have fp32/blas_linear.cpp instead.
#include "kernels/cpu/linear_parts.h"

namespace sti {

uint64_t BlasLinearRoom(const LinearLimits& /*limits*/) { return 0; }

Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& /*pool*/, Activation /*activation*/) {
  return MachineError("OpenBLAS is no part of the library: its own kernels take its place");
}

}  // namespace sti
