// OpenBLAS, opened at run time: the plain reference that the native kernels are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace sti {

/// An open libopenblas.so.0. Never closed, since its threads outlive any handle. One thread at a
/// time.
class BlasBackend {
 public:
  /// Opens the library and sets its thread count. Fails (machine) where it is not installed.
  ///
  /// On a CPU with AVX-512, before opening it for the first time, sets OPENBLAS_CORETYPE=SkylakeX
  /// in the environment unless the user has set it: the packaged 0.3.21 takes its Haswell kernels
  /// on CPUs that it does not know, at half the speed, and asks nothing but the environment. So
  /// open it before other threads read the environment.
  static Result<BlasBackend> Open(uint32_t threads);

  /// Adds a [rows, ins] times b [ins, outs] to c [rows, outs], all row-major.
  void Sgemm(uint32_t rows, uint32_t outs, uint32_t ins, const float* a, size_t a_stride,
             const float* b, size_t b_stride, float* c, size_t c_stride) const;

  /// Returns the kernels that it chose, e.g. "SkylakeX".
  [[nodiscard]] const std::string& core() const { return core_; }

 private:
  using SgemmFunction = void (*)(int order, int trans_a, int trans_b, int m, int n, int k,
                                 float alpha, const float* a, int lda, const float* b, int ldb,
                                 float beta, float* c, int ldc);
  SgemmFunction sgemm_ = nullptr;
  std::string core_;
};

}  // namespace sti
