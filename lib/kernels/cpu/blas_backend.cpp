#include "kernels/cpu/blas_backend.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/backend.h"

namespace sti {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

Result<BlasBackend> BlasBackend::Open(uint32_t threads) {
  const auto sets = InstructionSets();
  if (std::find(sets.begin(), sets.end(), "avx512") != sets.end()) {
    setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  }
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return MachineError(std::string("cannot open ") + kLibrary +
                        ": install OpenBLAS (package libopenblas0) or use the native kernels");
  }
  BlasBackend backend;
  backend.sgemm_ = Find<SgemmFunction>(library, "cblas_sgemm");
  const auto set_threads = Find<void (*)(int)>(library, "openblas_set_num_threads");
  const auto core_name = Find<const char* (*)()>(library, "openblas_get_corename");
  if (backend.sgemm_ == nullptr || set_threads == nullptr) {
    return MachineError(std::string(kLibrary) + " lacks cblas_sgemm: it is not a full OpenBLAS");
  }
  set_threads(static_cast<int>(std::max(threads, 1U)));
  if (core_name != nullptr) backend.core_ = core_name();
  return backend;
}

void BlasBackend::Sgemm(uint32_t rows, uint32_t outs, uint32_t ins, const float* a, size_t a_stride,
                        const float* b, size_t b_stride, float* c, size_t c_stride) const {
  sgemm_(kRowMajor, kNoTranspose, kNoTranspose, static_cast<int>(rows), static_cast<int>(outs),
         static_cast<int>(ins), 1.0f, a, static_cast<int>(a_stride), b, static_cast<int>(b_stride),
         1.0f, c, static_cast<int>(c_stride));
}

}  // namespace sti
