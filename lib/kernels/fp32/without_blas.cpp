// Stands in for OpenBLAS in libsti and in static tools, which open no other library and set no
// variable of the process. The other tools have fp32/blas.cpp instead.
#include "kernels/cpu/linear_parts.h"

namespace sti {

uint64_t BlasLinearRoom(const LinearLimits& /*limits*/) { return 0; }

Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& /*pool*/, Activation /*activation*/) {
  return MachineError("OpenBLAS is no part of this build: its own kernels take its place");
}

}  // namespace sti
