#include "importance/dense_layer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/checked.h"
#include "importance/attention_gradient.h"
#include "kernels/decode.h"
#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "model/attention.h"
#include "model/layer_executor.h"
#include "network/tensors.h"
#include "shard/weight_order.h"

namespace sti {
namespace {

// One slice's part of one matrix. Decoded panels are [ins, panel] rows, as the dense matrix has
// them.
void DecodePart(const ShardView& shard, const ShardMatrix& matrix, uint32_t slice,
                DenseMatrix* dense) {
  const uint32_t first_out = matrix.scaled_by_output ? 0 : slice * matrix.outs;
  const uint32_t first_in = matrix.scaled_by_output ? slice * matrix.ins : 0;
  // Decoding may write up to a multiple of 64 weights.
  std::vector<float> panel(size_t{matrix.ins} * kPanelWidth + 64);
  for (uint32_t out = 0; out < matrix.outs; out += kPanelWidth) {
    const PanelStretch stretch{matrix, out, 0, matrix.ins};
    DecodePanel(shard, stretch, panel.data());
    const uint32_t width = stretch.width();
    for (uint32_t in = 0; in < matrix.ins; ++in) {
      std::memcpy(&dense->weights[size_t{first_in + in} * dense->outs + first_out + out],
                  &panel[size_t{in} * width], width * sizeof(float));
    }
  }
}

}  // namespace

void DecodeLayer(const ModelShape& shape, std::span<const ShardView> slices, ThreadPool& pool,
                 DenseLayer* layer) {
  const ShardMatrixTable matrices = ShardMatrices(shape);
  const std::span<const TensorSpec> tensors = TensorsAt(Home::kShard);
  for (const TensorSpec& tensor : tensors) {
    const TensorSize size = SizeOf(tensor, shape);
    DenseMatrix& dense = (*layer)[tensor.role];
    dense.ins = static_cast<uint32_t>(size.columns);
    dense.outs = static_cast<uint32_t>(size.rows);
    dense.weights.resize(size.count() + kDenseSlack);
  }
  const auto count = static_cast<uint32_t>(tensors.size());
  pool.ParallelFor(shape.width * count, [&](uint32_t index, uint32_t) {
    const TensorRole role = tensors[index % count].role;
    const uint32_t slice = index / count;
    DecodePart(slices[slice], matrices[role], slice, &(*layer)[role]);
  });
}

void Subtract(const DenseLayer& other, DenseLayer* layer) {
  for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
    const std::vector<float>& taken = other[tensor.role].weights;
    std::vector<float>& weights = (*layer)[tensor.role].weights;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] -= taken[i];
  }
}

namespace {

constexpr size_t At(LayerValue value) { return static_cast<size_t>(value); }

}  // namespace

DenseExecutor::DenseExecutor(const ModelInfo& info, ThreadPool& pool)
    : shape_(info.shape),
      activation_(info.activation),
      eps_(static_cast<float>(info.layer_norm_eps)),
      widths_(WidthsOf(EncoderLayer(), info.shape)),
      pool_(pool) {}

uint64_t DenseExecutor::ScratchBytesPerToken(const ModelShape& shape) {
  return uint64_t{shape.hidden} * sizeof(float);  // keys_turned_
}

size_t DenseExecutor::Numbers(LayerValue value) const {
  return batch_.tokens() * widths_[At(value)];
}

void DenseExecutor::Forward(const LayerStep& step, const DenseParameters& parameters,
                            const DenseValues& values) {
  std::visit([&](const auto& it) { Compute(it, parameters, values); }, step);
}

void DenseExecutor::Backward(const LayerStep& step, const DenseParameters& parameters,
                             const DenseValues& values, DenseGradients* gradients) {
  std::visit([&](const auto& it) { GoBack(it, parameters, values, gradients); }, step);
}

// Sums begin with the bias, as Linear's do.
void DenseExecutor::Compute(const LinearStep& step, const DenseParameters& parameters,
                            const DenseValues& values) {
  const DenseMatrix& matrix = parameters.weights[step.weight];
  float* out = values[At(step.out)];
  FillRows(parameters.others[step.bias].data(), matrix.outs, batch_.tokens(), out, matrix.outs);
  MultiplyDense({.a = values[At(step.in)],
                 .a_stride = matrix.ins,
                 .b = matrix.weights.data(),
                 .b_stride = matrix.outs,
                 .c = out,
                 .c_stride = matrix.outs,
                 .rows = batch_.tokens(),
                 .ins = matrix.ins,
                 .outs = matrix.outs,
                 .accumulate = true},
                pool_);
}

void DenseExecutor::ApplyBack(const float* gradient, const DenseMatrix& matrix, float* out,
                              bool accumulate) {
  MultiplyDense({.a = gradient,
                 .a_stride = matrix.outs,
                 .b = matrix.weights.data(),
                 .b_stride = matrix.outs,
                 .transposed = true,
                 .c = out,
                 .c_stride = matrix.ins,
                 .rows = batch_.tokens(),
                 .ins = matrix.outs,
                 .outs = matrix.ins,
                 .accumulate = accumulate},
                pool_);
}

void DenseExecutor::GoBack(const LinearStep& step, const DenseParameters& parameters,
                           const DenseValues& /*values*/, DenseGradients* gradients) {
  bool& begun = gradients->begun[At(step.in)];
  ApplyBack(gradients->at[At(step.out)], parameters.weights[step.weight],
            gradients->at[At(step.in)], begun);
  begun = true;
}

// Attend puts the context in the place of the queries, which the backward pass wants too.
void DenseExecutor::Compute(const AttendStep& step, const DenseParameters& /*parameters*/,
                            const DenseValues& values) {
  const uint32_t tokens = batch_.tokens();
  const uint32_t d = shape_.hidden;
  const size_t stride = RoundUp(tokens, kDenseSlack);
  keys_turned_.resize(d * stride + kDenseSlack);
  TransposeTile(values[At(step.keys)], d, tokens, d, keys_turned_.data(), stride);
  const uint64_t scratch = AttentionScratch(batch_.longest());
  scores_.resize(scratch * pool_.threads());
  std::copy_n(values[At(step.queries)], Numbers(step.queries), values[At(step.out)]);
  Attend({.queries = values[At(step.out)],
          .query_stride = d,
          .keys = keys_turned_.data(),
          .key_stride = stride,
          .values = values[At(step.values)],
          .value_stride = d,
          .heads = shape_.width,
          .head_dim = shape_.head_dim(),
          .offsets = batch_.offsets},
         pool_, scores_.data(), scratch);
}

void DenseExecutor::GoBack(const AttendStep& step, const DenseParameters& /*parameters*/,
                           const DenseValues& values, DenseGradients* gradients) {
  for (const LayerValue read : {step.queries, step.keys, step.values}) {
    assert(!gradients->begun[At(read)]);  // nothing else reads them
    gradients->begun[At(read)] = true;
  }
  AttentionGradient({.queries = values[At(step.queries)],
                     .keys = values[At(step.keys)],
                     .values = values[At(step.values)],
                     .context_gradient = gradients->at[At(step.out)],
                     .query_gradient = gradients->at[At(step.queries)],
                     .key_gradient = gradients->at[At(step.keys)],
                     .value_gradient = gradients->at[At(step.values)],
                     .hidden = shape_.hidden,
                     .heads = shape_.width,
                     .offsets = batch_.offsets},
                    pool_);
}

void DenseExecutor::Compute(const ActivateStep& step, const DenseParameters& /*parameters*/,
                            const DenseValues& values) {
  const auto width = static_cast<uint32_t>(widths_[At(step.in)]);
  std::copy_n(values[At(step.in)], Numbers(step.in), values[At(step.out)]);
  Activate(activation_, values[At(step.out)], width, batch_.tokens(), width);
}

void DenseExecutor::GoBack(const ActivateStep& step, const DenseParameters& /*parameters*/,
                           const DenseValues& values, DenseGradients* gradients) {
  const auto width = static_cast<uint32_t>(widths_[At(step.in)]);
  float* gradient = gradients->CarryOver(step.out, step.in, Numbers(step.in));
  ForRows(pool_, batch_.tokens(), [&](uint32_t row) {
    const size_t at = size_t{row} * width;
    ActivationGradient(activation_, values[At(step.in)] + at, width, gradient + at);
  });
}

void DenseExecutor::Compute(const AddStep& step, const DenseParameters& /*parameters*/,
                            const DenseValues& values) {
  const float* in = values[At(step.in)];
  float* out = values[At(step.out)];
  for (size_t i = 0; i < Numbers(step.in); ++i) out[i] += in[i];
}

void DenseExecutor::GoBack(const AddStep& step, const DenseParameters& /*parameters*/,
                           const DenseValues& /*values*/, DenseGradients* gradients) {
  gradients->CarryOver(step.out, step.in, Numbers(step.in));
}

void DenseExecutor::Compute(const NormStep& step, const DenseParameters& parameters,
                            const DenseValues& values) {
  const auto width = static_cast<uint32_t>(widths_[At(step.in)]);
  const float* weight = parameters.others[step.weight].data();
  const float* bias = parameters.others[step.bias].data();
  ForRows(pool_, batch_.tokens(), [&](uint32_t row) {
    const size_t at = size_t{row} * width;
    LayerNormRow(values[At(step.in)] + at, nullptr, weight, bias, width, eps_,
                 values[At(step.out)] + at);
  });
}

void DenseExecutor::GoBack(const NormStep& step, const DenseParameters& parameters,
                           const DenseValues& values, DenseGradients* gradients) {
  const auto width = static_cast<uint32_t>(widths_[At(step.in)]);
  float* gradient = gradients->CarryOver(step.out, step.in, Numbers(step.in));
  ForRows(pool_, batch_.tokens(), [&](uint32_t row) {
    const size_t at = size_t{row} * width;
    LayerNormGradientRow(values[At(step.in)] + at, parameters.others[step.weight].data(), width,
                         eps_, gradient + at);
  });
}

float* DenseGradients::CarryOver(LayerValue from, LayerValue to, size_t count) {
  assert(!begun[At(to)]);
  begun[At(to)] = true;
  if (at[At(to)] != at[At(from)]) std::copy_n(at[At(from)], count, at[At(to)]);
  return at[At(to)];
}

}  // namespace sti
