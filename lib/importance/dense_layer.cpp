#include "importance/dense_layer.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "kernels/decode.h"
#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
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

DenseExecutor::DenseExecutor(const ModelInfo& info, ThreadPool& pool)
    : shape_(info.shape),
      activation_(info.activation),
      eps_(static_cast<float>(info.layer_norm_eps)),
      widths_(WidthsOf(EncoderLayer(), info.shape)),
      pool_(pool) {}

uint64_t DenseExecutor::ScratchBytesPerToken(const ModelShape& shape) {
  return uint64_t{shape.hidden} * sizeof(float);  // keys_turned_
}

size_t DenseExecutor::Numbers(LayerValue value) const { return batch_.tokens() * widths_[value]; }

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
  float* out = values[step.out];
  FillRows(parameters.others[step.bias].data(), matrix.outs, batch_.tokens(), out, matrix.outs);
  MultiplyDense({.a = values[step.in],
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
  bool& begun = gradients->begun[step.in];
  ApplyBack(gradients->at[step.out], parameters.weights[step.weight], gradients->at[step.in],
            begun);
  begun = true;
}

// Attend puts the context in the place of the queries, which the backward pass wants too.
void DenseExecutor::Compute(const AttendStep& step, const DenseParameters& /*parameters*/,
                            const DenseValues& values) {
  const uint32_t tokens = batch_.tokens();
  const uint32_t d = shape_.hidden;
  const size_t stride = RoundUp(tokens, kDenseSlack);
  keys_turned_.resize(d * stride + kDenseSlack);
  TransposeTile(values[step.keys], d, tokens, d, keys_turned_.data(), stride);
  const uint64_t scratch = AttentionScratch(batch_.longest());
  scores_.resize(scratch * pool_.threads());
  std::copy_n(values[step.queries], Numbers(step.queries), values[step.out]);
  Attend({.queries = values[step.out],
          .query_stride = d,
          .keys = keys_turned_.data(),
          .key_stride = stride,
          .values = values[step.values],
          .value_stride = d,
          .heads = shape_.width,
          .head_dim = shape_.head_dim(),
          .offsets = batch_.offsets},
         pool_, scores_.data(), scratch);
}

void DenseExecutor::GoBack(const AttendStep& step, const DenseParameters& /*parameters*/,
                           const DenseValues& values, DenseGradients* gradients) {
  for (const LayerValue read : {step.queries, step.keys, step.values}) {
    assert(!gradients->begun[read]);  // nothing else reads them
    gradients->begun[read] = true;
  }
  AttentionGradient({.queries = values[step.queries],
                     .keys = values[step.keys],
                     .values = values[step.values],
                     .context_gradient = gradients->at[step.out],
                     .query_gradient = gradients->at[step.queries],
                     .key_gradient = gradients->at[step.keys],
                     .value_gradient = gradients->at[step.values],
                     .hidden = shape_.hidden,
                     .heads = shape_.width,
                     .offsets = batch_.offsets},
                    pool_);
}

void DenseExecutor::Compute(const ActivateStep& step, const DenseParameters& /*parameters*/,
                            const DenseValues& values) {
  const auto width = static_cast<uint32_t>(widths_[step.in]);
  std::copy_n(values[step.in], Numbers(step.in), values[step.out]);
  Activate(activation_, values[step.out], width, batch_.tokens(), width);
}

void DenseExecutor::GoBack(const ActivateStep& step, const DenseParameters& /*parameters*/,
                           const DenseValues& values, DenseGradients* gradients) {
  const auto width = static_cast<uint32_t>(widths_[step.in]);
  float* gradient = gradients->CarryOver(step.out, step.in, Numbers(step.in));
  ForRows(pool_, batch_.tokens(), [&](uint32_t row) {
    const size_t at = size_t{row} * width;
    ActivationGradient(activation_, values[step.in] + at, width, gradient + at);
  });
}

void DenseExecutor::Compute(const AddStep& step, const DenseParameters& /*parameters*/,
                            const DenseValues& values) {
  const float* in = values[step.in];
  float* out = values[step.out];
  for (size_t i = 0; i < Numbers(step.in); ++i) out[i] += in[i];
}

void DenseExecutor::GoBack(const AddStep& step, const DenseParameters& /*parameters*/,
                           const DenseValues& /*values*/, DenseGradients* gradients) {
  gradients->CarryOver(step.out, step.in, Numbers(step.in));
}

void DenseExecutor::Compute(const NormStep& step, const DenseParameters& parameters,
                            const DenseValues& values) {
  const auto width = static_cast<uint32_t>(widths_[step.in]);
  const float* weight = parameters.others[step.weight].data();
  const float* bias = parameters.others[step.bias].data();
  ForRows(pool_, batch_.tokens(), [&](uint32_t row) {
    const size_t at = size_t{row} * width;
    LayerNormRow(values[step.in] + at, nullptr, weight, bias, width, eps_, values[step.out] + at);
  });
}

void DenseExecutor::GoBack(const NormStep& step, const DenseParameters& parameters,
                           const DenseValues& values, DenseGradients* gradients) {
  const auto width = static_cast<uint32_t>(widths_[step.in]);
  float* gradient = gradients->CarryOver(step.out, step.in, Numbers(step.in));
  ForRows(pool_, batch_.tokens(), [&](uint32_t row) {
    const size_t at = size_t{row} * width;
    LayerNormGradientRow(values[step.in] + at, parameters.others[step.weight].data(), width, eps_,
                         gradient + at);
  });
}

float* DenseGradients::CarryOver(LayerValue from, LayerValue to, size_t count) {
  assert(!begun[to]);
  begun[to] = true;
  if (at[to] != at[from]) std::copy_n(at[from], count, at[to]);
  return at[to];
}

namespace {

/// Room for one head of one sequence.
struct Scratch {
  std::vector<float> turned;    ///< [head_dim, stride] keys or values, or [length, stride] below
  std::vector<float> weights;   ///< [length, stride] of attention
  std::vector<float> gradient;  ///< [length, stride] at the weights, then at the scores
};

class HeadGradient {
 public:
  HeadGradient(const AttentionTape& tape, uint32_t head, uint32_t begin, uint32_t end)
      : tape_(tape),
        length_(end - begin),
        dim_(tape.hidden / tape.heads),
        stride_(RoundUp(length_, kDenseSlack)),
        at_(size_t{begin} * tape.hidden + size_t{head} * dim_) {}

  void Run(Scratch* scratch) const {
    scratch->turned.resize(std::max<size_t>(dim_, length_) * stride_ + kDenseSlack);
    scratch->weights.resize(length_ * stride_ + kDenseSlack);
    scratch->gradient.resize(length_ * stride_ + kDenseSlack);
    float* turned = scratch->turned.data();
    float* weights = scratch->weights.data();
    float* gradient = scratch->gradient.data();
    const float scale = 1.0f / std::sqrt(static_cast<float>(dim_));
    ByTurned(tape_.queries, tape_.keys, turned, weights);
    ByTurned(tape_.context_gradient, tape_.values, turned, gradient);
    for (uint32_t r = 0; r < length_; ++r) {
      SoftmaxRow(weights + r * stride_, length_, scale);
      SoftmaxGradientRow(weights + r * stride_, length_, scale, gradient + r * stride_);
    }
    Combine(gradient, tape_.keys, tape_.query_gradient);
    TransposeTile(gradient, stride_, length_, length_, turned, stride_);
    Combine(turned, tape_.queries, tape_.key_gradient);
    TransposeTile(weights, stride_, length_, length_, turned, stride_);
    Combine(turned, tape_.context_gradient, tape_.value_gradient);
  }

 private:
  // out [length, length] = this head's rows of `a` times those of `b`, each by each.
  void ByTurned(const float* a, const float* b, float* turned, float* out) const {
    TransposeTile(b + at_, tape_.hidden, length_, dim_, turned, stride_);
    MultiplySmall({.a = a + at_,
                   .a_stride = tape_.hidden,
                   .b = turned,
                   .b_stride = stride_,
                   .c = out,
                   .c_stride = stride_,
                   .rows = length_,
                   .ins = dim_,
                   .outs = length_});
  }

  // This head's rows of `out` = square [length, length] times those of `b`.
  void Combine(const float* square, const float* b, float* out) const {
    MultiplySmall({.a = square,
                   .a_stride = stride_,
                   .b = b + at_,
                   .b_stride = tape_.hidden,
                   .c = out + at_,
                   .c_stride = tape_.hidden,
                   .rows = length_,
                   .ins = length_,
                   .outs = dim_});
  }

  const AttentionTape& tape_;
  uint32_t length_;
  uint32_t dim_;
  size_t stride_;
  size_t at_;  // of the head's first number
};

}  // namespace

void AttentionGradient(const AttentionTape& tape, ThreadPool& pool) {
  std::vector<Scratch> scratch(pool.threads());
  const auto sequences = static_cast<uint32_t>(tape.offsets.size() - 1);
  pool.ParallelFor(sequences * tape.heads, [&](uint32_t index, uint32_t worker) {
    const uint32_t sequence = index / tape.heads;
    const HeadGradient head(tape, index % tape.heads, tape.offsets[sequence],
                            tape.offsets[sequence + 1]);
    head.Run(&scratch[worker]);
  });
}

}  // namespace sti
