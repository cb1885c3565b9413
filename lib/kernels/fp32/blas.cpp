#include "kernels/fp32/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "kernels/backend.h"
#include "kernels/cpu/linear_parts.h"
#include "kernels/decode.h"
#include "kernels/elementwise.h"

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

namespace {

// Floats of decoded panels, and as many of the matrix put together from them.
uint64_t WeightFloats(const LinearLimits& limits) {
  return RoundUp(limits.matrix_weights, 64) + uint64_t{64} * limits.outs;
}

// A shard's matrix is decoded whole, then multiplied by OpenBLAS.
class BlasLinear final : public Linear {
 public:
  BlasLinear(BlasBackend blas, ThreadPool& pool, Activation activation)
      : blas_(std::move(blas)), pool_(pool), activation_(activation) {}

  void Reserve(const LinearLimits& limits) override {
    const uint64_t weights = WeightFloats(limits);
    buffer_ = AlignedBuffer(BlasLinearRoom(limits));
    panels_ = reinterpret_cast<float*>(buffer_.data());
    matrix_ = panels_ + weights;
    tile_ = matrix_ + weights;
  }
  void Run(uint32_t rows, std::span<const LinearSum> groups) override {
    for (const LinearSum& group : groups) RunGroup(rows, group);
  }
  void Release() override { buffer_ = AlignedBuffer(); }
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) override { visit(buffer_); }
  [[nodiscard]] uint64_t bytes() const override { return buffer_.size(); }
  [[nodiscard]] Kernel kernel() const override { return KernelFor({Backend::kOpenBlas}); }

 private:
  void DecodeMatrix(const LinearTerm& term);
  void RunGroup(uint32_t rows, const LinearSum& group);

  BlasBackend blas_;
  ThreadPool& pool_;
  Activation activation_;
  AlignedBuffer buffer_;
  float* panels_ = nullptr;
  float* matrix_ = nullptr;
  float* tile_ = nullptr;
};

// matrix_ [ins, outs] from the term's panels.
void BlasLinear::DecodeMatrix(const LinearTerm& term) {
  const uint32_t outs = term.matrix.outs;
  const uint32_t ins = term.matrix.ins;
  const uint32_t panels = (outs + kPanelWidth - 1) / kPanelWidth;
  pool_.ParallelFor(panels, [&](uint32_t p, uint32_t) {
    const uint32_t out = p * kPanelWidth;
    const PanelStretch stretch{term.matrix, out, 0, ins};
    const uint32_t width = stretch.width();
    // Decoding writes up to a multiple of 64: keep panels that far apart.
    float* panel = panels_ + uint64_t{out} * ins + uint64_t{p} * 64;
    DecodePanel(*term.shard, stretch, panel);
    for (uint32_t k = 0; k < ins; ++k) {
      std::memcpy(matrix_ + uint64_t{k} * outs + out, panel + uint64_t{k} * width,
                  width * sizeof(float));
    }
  });
}

void BlasLinear::RunGroup(uint32_t rows, const LinearSum& group) {
  const bool transpose = group.epilogue == Epilogue::kTranspose;
  float* out = transpose ? tile_ : group.out;
  const size_t stride = transpose ? group.outs : group.out_stride;
  FillRows(group.bias, group.outs, rows, out, stride);
  for (const LinearTerm& term : group.terms) {
    DecodeMatrix(term);
    blas_.Sgemm(rows, group.outs, term.matrix.ins, term.in, term.in_stride, matrix_, group.outs,
                out, stride);
  }
  if (transpose) {
    TransposeTile(out, stride, rows, group.outs, group.out, group.out_stride);
  } else if (group.epilogue == Epilogue::kActivate) {
    pool_.ParallelFor(rows, [&](uint32_t row, uint32_t) {
      Activate(activation_, out + row * stride, stride, 1, group.outs);
    });
  }
}

}  // namespace

// Weights twice, and outputs that wait to be transposed.
uint64_t BlasLinearRoom(const LinearLimits& limits) {
  return (2 * WeightFloats(limits) + uint64_t{limits.rows} * limits.outs) * sizeof(float);
}

Result<std::unique_ptr<Linear>> MakeBlasLinear(ThreadPool& pool, Activation activation) {
  STI_ASSIGN_OR_RETURN(BlasBackend blas, BlasBackend::Open(pool.threads()));
  return std::unique_ptr<Linear>(std::make_unique<BlasLinear>(std::move(blas), pool, activation));
}

}  // namespace sti
