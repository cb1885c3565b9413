// The plain backend: a shard's matrix is decoded whole, then multiplied by OpenBLAS.
#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "kernels/cpu/blas_backend.h"
#include "kernels/cpu/linear_parts.h"
#include "kernels/decode_shard.h"
#include "kernels/elementwise.h"

namespace sti {
namespace {

// Floats of decoded panels, and as many of the matrix put together from them.
uint64_t WeightFloats(const LinearLimits& limits) {
  return RoundUp(limits.matrix_weights, 64) + uint64_t{64} * limits.outs;
}

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
