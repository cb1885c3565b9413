#include "importance/gradient.h"

#include <algorithm>
#include <cassert>

#include "base/checked.h"
#include "importance/attention_gradient.h"
#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "kernels/gradients.h"
#include "kernels/linear.h"
#include "model/attention.h"
#include "model/head.h"
#include "network/tensors.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr uint32_t kRowsATask = 8;

// gradient[i] *= the slope of the pooler's activation, of which x is the input and y the output.
void PoolerGradient(PoolerActivation pooler, const float* x, const float* y, uint32_t count,
                    float* gradient) {
  if (pooler == PoolerActivation::kGelu) {
    return ActivationGradient(Activation::kGelu, x, count, gradient);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const float relu_slope = y[i] > 0 ? 1.0F : 0.0F;
    gradient[i] *= pooler == PoolerActivation::kTanh ? 1 - y[i] * y[i] : relu_slope;
  }
}

}  // namespace

GradientRun::GradientRun(const ModelInfo& info, ThreadPool& pool)
    : info_(info),
      shape_(info.shape),
      eps_(static_cast<float>(info.layer_norm_eps)),
      pool_(pool),
      tapes_(info.shape.layers) {}

uint64_t GradientRun::BytesPerToken(const ModelShape& shape) {
  uint64_t tape = 0;
  Tape().Visit(shape, [&](const std::vector<float>&, uint64_t numbers) { tape += numbers; });
  uint64_t once = 0;
  Gradients().Visit(shape, [&](const std::vector<float>&, uint64_t numbers) { once += numbers; });
  // Besides: gradient_, attended_, keys_turned_ and the caller's hidden rows; active_ and product_.
  once += 4 * uint64_t{shape.hidden} + 2 * uint64_t{shape.ffn};
  return (shape.layers * tape + once) * sizeof(float);
}

uint32_t GradientRun::BatchTokens(const ModelShape& shape, uint64_t bytes) {
  constexpr uint64_t kMostBytes = uint64_t{64} << 20;
  constexpr uint64_t kLeastTokens = 64;   // decoding a layer is not to outweigh multiplying with it
  constexpr uint64_t kMostTokens = 1024;  // more would gain nothing
  const uint64_t room = std::min(kMostBytes, bytes) / BytesPerToken(shape);
  return static_cast<uint32_t>(std::clamp(room, kLeastTokens, kMostTokens));
}

void GradientRun::Begin(const Batch& batch) {
  batch_ = batch;
  const auto resize = [&](std::vector<float>& part, size_t numbers) {
    part.resize(batch.tokens() * numbers + kDenseSlack);
  };
  for (Tape& tape : tapes_) tape.Visit(shape_, resize);
  gradients_.Visit(shape_, resize);
  resize(gradient_, shape_.hidden);
  resize(attended_, shape_.hidden);
  resize(active_, shape_.ffn);
  resize(product_, std::max(shape_.hidden, shape_.ffn));
}

template <typename F>
void GradientRun::ForRows(const F& f) {
  const uint32_t tokens = batch_.tokens();
  pool_.ParallelFor((tokens + kRowsATask - 1) / kRowsATask, [&](uint32_t task, uint32_t) {
    const uint32_t end = std::min(tokens, (task + 1) * kRowsATask);
    for (uint32_t row = task * kRowsATask; row < end; ++row) f(row);
  });
}

// out = in W^T + bias. Sums begin with the bias, as Linear's do.
void GradientRun::Apply(const float* in, const DenseMatrix& matrix, const std::vector<float>& bias,
                        float* out) {
  FillRows(bias.data(), matrix.outs, batch_.tokens(), out, matrix.outs);
  MultiplyDense({.a = in,
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

// out = gradient W: from a map's output to its input.
void GradientRun::ApplyBack(const float* gradient, const DenseMatrix& matrix, float* out,
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

// Attend puts the context in the place of the queries, which the backward pass wants too.
void GradientRun::Attention(Tape& tape) {
  const uint32_t tokens = batch_.tokens();
  const uint32_t d = shape_.hidden;
  const size_t stride = RoundUp(tokens, kDenseSlack);
  keys_turned_.resize(d * stride + kDenseSlack);
  TransposeTile(tape.keys.data(), d, tokens, d, keys_turned_.data(), stride);
  const uint64_t scratch = AttentionScratch(batch_.longest());
  scores_.resize(scratch * pool_.threads());
  tape.context = tape.queries;
  Attend({.queries = tape.context.data(),
          .query_stride = d,
          .keys = keys_turned_.data(),
          .key_stride = stride,
          .values = tape.values.data(),
          .value_stride = d,
          .heads = shape_.width,
          .head_dim = shape_.head_dim(),
          .offsets = batch_.offsets},
         pool_, scores_.data(), scratch);
}

void GradientRun::Norm(const std::vector<float>& in, const std::vector<float>& weight,
                       const std::vector<float>& bias, float* out) {
  const uint32_t d = shape_.hidden;
  ForRows([&](uint32_t row) {
    const size_t at = size_t{row} * d;
    LayerNormRow(&in[at], nullptr, weight.data(), bias.data(), d, eps_, out + at);
  });
}

void GradientRun::NormBack(const std::vector<float>& in, const std::vector<float>& weight,
                           float* gradient) {
  const uint32_t d = shape_.hidden;
  ForRows([&](uint32_t row) {
    const size_t at = size_t{row} * d;
    LayerNormGradientRow(&in[at], weight.data(), d, eps_, gradient + at);
  });
}

void GradientRun::Forward(uint32_t layer, const DenseLayer& weights,
                          const LayerParameters& parameters, float* hidden) {
  Tape& tape = tapes_[layer];
  const size_t count = size_t{batch_.tokens()} * shape_.hidden;
  std::copy(hidden, hidden + count, tape.input.begin());
  Apply(hidden, weights[kQueryWeight], parameters[kQueryBias], tape.queries.data());
  Apply(hidden, weights[kKeyWeight], parameters[kKeyBias], tape.keys.data());
  Apply(hidden, weights[kValueWeight], parameters[kValueBias], tape.values.data());
  Attention(tape);
  Apply(tape.context.data(), weights[kOutputWeight], parameters[kOutputBias],
        tape.attention_sum.data());
  for (size_t i = 0; i < count; ++i) tape.attention_sum[i] += hidden[i];
  Norm(tape.attention_sum, parameters[kAttentionNormWeight], parameters[kAttentionNormBias],
       hidden);
  Apply(hidden, weights[kFfn1Weight], parameters[kFfn1Bias], tape.inner.data());
  active_ = tape.inner;
  Activate(info_.activation, active_.data(), shape_.ffn, batch_.tokens(), shape_.ffn);
  Apply(active_.data(), weights[kFfn2Weight], parameters[kFfn2Bias], tape.output_sum.data());
  for (size_t i = 0; i < count; ++i) tape.output_sum[i] += hidden[i];
  Norm(tape.output_sum, parameters[kOutputNormWeight], parameters[kOutputNormBias], hidden);
}

void GradientRun::Head(const HeadParameters& parameters, const float* hidden, float* logits) {
  const ClassifierHead head{shape_, info_.pooler, parameters};
  head.Pool(batch_, hidden, pool_, pooled_);
  pooler_sum_.assign(pooled_.begin(), pooled_.begin() + size_t{batch_.sequences()} * shape_.hidden);
  head.Classify(batch_.sequences(), pooled_.data(), logits);
}

void GradientRun::BeginBackward(const HeadParameters& parameters,
                                std::span<const float> logit_gradient) {
  const uint32_t d = shape_.hidden;
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
  const auto add_row = [d](const float* row, float factor, float* sum) {
    for (uint32_t i = 0; i < d; ++i) sum[i] += factor * row[i];
  };
  pool_.ParallelFor(batch_.sequences(), [&](uint32_t s, uint32_t) {
    std::vector<float> at_pooled(d);
    for (uint32_t label = 0; label < shape_.labels; ++label) {
      add_row(&parameters[kClassifierWeight][size_t{label} * d],
              logit_gradient[size_t{s} * shape_.labels + label], at_pooled.data());
    }
    const size_t at = size_t{s} * d;
    PoolerGradient(info_.pooler, &pooler_sum_[at], &pooled_[at], d, at_pooled.data());
    std::vector<float> row(d);
    float* first = &gradient_[size_t{batch_.offsets[s]} * d];
    for (uint32_t out = 0; out < d; ++out) {
      parameters.pooler_weight.Row(out, d, row.data());
      add_row(row.data(), at_pooled[out], first);
    }
  });
}

// From gradient_ at the layer's output to gradient_ at that of the first norm.
void GradientRun::FfnBack(const Tape& tape, const DenseLayer& weights,
                          const LayerParameters& parameters) {
  Norm(tape.attention_sum, parameters[kAttentionNormWeight], parameters[kAttentionNormBias],
       attended_.data());
  active_ = tape.inner;
  Activate(info_.activation, active_.data(), shape_.ffn, batch_.tokens(), shape_.ffn);
  NormBack(tape.output_sum, parameters[kOutputNormWeight], gradient_.data());
  gradients_.ffn = gradient_;
  ApplyBack(gradient_.data(), weights[kFfn2Weight], gradients_.inner.data(), false);
  ForRows([&](uint32_t row) {
    const size_t at = size_t{row} * shape_.ffn;
    ActivationGradient(info_.activation, &tape.inner[at], shape_.ffn, &gradients_.inner[at]);
  });
  ApplyBack(gradients_.inner.data(), weights[kFfn1Weight], gradient_.data(), true);
}

// From gradient_ at the first norm's input to that at the layer's.
void GradientRun::AttentionBack(const Tape& tape, const DenseLayer& weights) {
  gradients_.output = gradient_;
  ApplyBack(gradient_.data(), weights[kOutputWeight], product_.data(), false);
  AttentionGradient({.queries = tape.queries.data(),
                     .keys = tape.keys.data(),
                     .values = tape.values.data(),
                     .context_gradient = product_.data(),
                     .query_gradient = gradients_.queries.data(),
                     .key_gradient = gradients_.keys.data(),
                     .value_gradient = gradients_.values.data(),
                     .hidden = shape_.hidden,
                     .heads = shape_.width,
                     .offsets = batch_.offsets},
                    pool_);
  ApplyBack(gradients_.queries.data(), weights[kQueryWeight], gradient_.data(), true);
  ApplyBack(gradients_.keys.data(), weights[kKeyWeight], gradient_.data(), true);
  ApplyBack(gradients_.values.data(), weights[kValueWeight], gradient_.data(), true);
}

void GradientRun::Backward(uint32_t layer, const DenseLayer& weights,
                           const LayerParameters& parameters) {
  current_ = &tapes_[layer];
  FfnBack(*current_, weights, parameters);
  NormBack(current_->attention_sum, parameters[kAttentionNormWeight], gradient_.data());
  AttentionBack(*current_, weights);
}

// out [sequences, shares] += sums over an example's tokens of a * b, both [tokens, width], over
// each share of the columns.
void GradientRun::AddShares(const float* a, const float* b, uint32_t width, uint32_t shares,
                            double* out) {
  const uint32_t share = width / shares;
  pool_.ParallelFor(batch_.sequences(), [&](uint32_t s, uint32_t) {
    for (uint32_t token = batch_.offsets[s]; token < batch_.offsets[s + 1]; ++token) {
      for (uint32_t i = 0; i < shares; ++i) {
        const size_t at = size_t{token} * width + size_t{i} * share;
        out[size_t{s} * shares + i] +=
            double{share == 1 ? a[at] * b[at] : Dot(a + at, b + at, share)};
      }
    }
  });
}

void GradientRun::Derivatives(const DenseLayer& change, double* out) {
  assert(current_ != nullptr);
  std::fill(out, out + size_t{batch_.sequences()} * shape_.width, 0.0);
  // A slice has its own outputs of these, and the gradient there.
  const auto by_outputs = [&](TensorRole matrix, const float* in, const float* gradient) {
    const DenseMatrix& changed = change[matrix];
    MultiplyDense({.a = in,
                   .a_stride = changed.ins,
                   .b = changed.weights.data(),
                   .b_stride = changed.outs,
                   .c = product_.data(),
                   .c_stride = changed.outs,
                   .rows = batch_.tokens(),
                   .ins = changed.ins,
                   .outs = changed.outs},
                  pool_);
    AddShares(product_.data(), gradient, changed.outs, shape_.width, out);
  };
  // Outputs of these are shared, and a slice has its own inputs.
  const auto by_inputs = [&](TensorRole matrix, const float* in, const float* gradient) {
    ApplyBack(gradient, change[matrix], product_.data(), false);
    AddShares(product_.data(), in, change[matrix].ins, shape_.width, out);
  };
  by_outputs(kQueryWeight, current_->input.data(), gradients_.queries.data());
  by_outputs(kKeyWeight, current_->input.data(), gradients_.keys.data());
  by_outputs(kValueWeight, current_->input.data(), gradients_.values.data());
  by_inputs(kOutputWeight, current_->context.data(), gradients_.output.data());
  by_outputs(kFfn1Weight, attended_.data(), gradients_.inner.data());
  by_inputs(kFfn2Weight, active_.data(), gradients_.ffn.data());
}

void GradientRun::Contributions(const DenseLayer& weights, double* heads, double* neurons) {
  assert(current_ != nullptr);
  const auto by_inputs = [&](TensorRole matrix, const float* in, const float* gradient,
                             uint32_t shares, double* out) {
    std::fill(out, out + size_t{batch_.sequences()} * shares, 0.0);
    ApplyBack(gradient, weights[matrix], product_.data(), false);
    AddShares(product_.data(), in, weights[matrix].ins, shares, out);
  };
  by_inputs(kOutputWeight, current_->context.data(), gradients_.output.data(), shape_.width, heads);
  by_inputs(kFfn2Weight, active_.data(), gradients_.ffn.data(), shape_.ffn, neurons);
}

std::span<const float> GradientRun::gradient() const {
  return {gradient_.data(), size_t{batch_.tokens()} * shape_.hidden};
}

}  // namespace sti
