#include "importance/gradient.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/dense.h"
#include "kernels/elementwise.h"
#include "model/head.h"
#include "network/tensors.h"
#include "types/score.h"

namespace sti {
namespace {

using enum TensorRole;

// Returns the step of EncoderLayer that writes a value, not one that adds to it; null for the
// layer's input.
const LayerStep* WriterOf(LayerValue value) {
  for (const LayerStep& step : EncoderLayer()) {
    if (WrittenBy(step) == value) return &step;
  }
  return nullptr;
}

// Returns the linear step of EncoderLayer that a matrix is for.
const LinearStep& StepOf(TensorRole matrix) {
  const auto is_it = [&](const LayerStep& step) {
    const auto* linear = std::get_if<LinearStep>(&step);
    return linear != nullptr && linear->weight == matrix;
  };
  return std::get<LinearStep>(*std::ranges::find_if(EncoderLayer(), is_it));
}

// Returns whether a linear map gives a value.
bool IsProduct(LayerValue value) {
  const LayerStep* writer = WriterOf(value);
  return writer != nullptr && std::holds_alternative<LinearStep>(*writer);
}

// Returns whether the forward pass keeps a value of each layer.
bool IsOnTape(LayerValue value) {
  const LayerStep* writer = WriterOf(value);
  return writer == nullptr || IsProduct(value) || std::holds_alternative<AttendStep>(*writer);
}

// Returns whether the backward pass computes a value again.
bool IsComputedAgain(LayerValue value) { return value != LayerValue::kOutput && !IsOnTape(value); }

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

// Turns the gradient at vector / |vector| into that at the vector, in place. One without a length
// is left as it is by the head, which says nothing of its neighbours: no gradient.
void UnitLengthGradient(std::span<const float> vector, std::span<float> gradient) {
  const double squares = InnerProduct(vector, vector);
  const double along = InnerProduct(vector, gradient);
  const double length = std::sqrt(squares);
  for (size_t i = 0; i < vector.size(); ++i) {
    const double across = double{gradient[i]} - double{vector[i]} * along / squares;
    gradient[i] = squares == 0 ? 0.0F : static_cast<float>(across / length);
  }
}

}  // namespace

GradientRun::GradientRun(const ModelInfo& info, ThreadPool& pool)
    : info_(info),
      shape_(info.shape),
      widths_(WidthsOf(EncoderLayer(), info.shape)),
      pool_(pool),
      executor_(info, pool),
      tapes_(info.shape.layers) {}

uint64_t GradientRun::BytesPerToken(const ModelShape& shape) {
  const ByValue<uint64_t> widths = WidthsOf(EncoderLayer(), shape);
  uint64_t tape = 0;
  uint64_t once = 0;
  for (const LayerValue value : kLayerValues) {
    if (IsOnTape(value)) tape += widths[value];
    if (IsComputedAgain(value)) once += widths[value];
    if (IsProduct(value)) once += widths[value];  // its gradient
  }
  // Besides: gradient_ and the caller's hidden rows, all that a head wants which pools, and
  // product_.
  once += (shape.has_pooler ? 2 : 3) * uint64_t{shape.hidden} + shape.ffn;
  return (shape.layers * tape + once) * sizeof(float) + DenseExecutor::ScratchBytesPerToken(shape);
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
  current_.reset();
  executor_.Begin(batch);
  const auto resize = [&](std::vector<float>& part, size_t numbers) {
    part.resize(batch.tokens() * numbers + kDenseSlack);
  };
  for (const LayerValue value : kLayerValues) {
    if (IsOnTape(value)) {
      for (Tape& tape : tapes_) resize(tape[value], widths_[value]);
    }
    if (IsComputedAgain(value)) resize(again_[value], widths_[value]);
    if (IsProduct(value)) resize(gradients_[value], widths_[value]);
  }
  resize(gradient_, shape_.hidden);
  resize(product_, std::max(shape_.hidden, shape_.ffn));
}

// Returns the places of a layer's values, of which only the forward pass has an output.
DenseValues GradientRun::ValuesOf(uint32_t layer, float* output) {
  DenseValues values;
  for (const LayerValue value : kLayerValues) {
    values[value] = IsOnTape(value) ? tapes_[layer][value].data() : again_[value].data();
  }
  values[LayerValue::kOutput] = output;
  return values;
}

// Returns the places of the gradients of the layer at hand. Those at hidden rows have one place,
// and so have those at an activation's input and output: each replaces the one behind it.
DenseGradients GradientRun::GradientPlaces() {
  DenseGradients gradients;
  for (const LayerStep& step : EncoderLayer()) {
    const LayerValue out = WrittenBy(step);
    if (std::holds_alternative<LinearStep>(step)) gradients.at[out] = gradients_[out].data();
    if (std::holds_alternative<AttendStep>(step)) gradients.at[out] = product_.data();
    if (std::holds_alternative<NormStep>(step)) gradients.at[out] = gradient_.data();
    if (const auto* it = std::get_if<ActivateStep>(&step)) {
      gradients.at[out] = gradients.at[it->in];
    }
  }
  gradients.at[LayerValue::kInput] = gradient_.data();
  return gradients;
}

void GradientRun::Forward(uint32_t layer, const DenseLayer& weights,
                          const LayerParameters& parameters, float* hidden) {
  const DenseValues values = ValuesOf(layer, hidden);
  std::copy_n(hidden, size_t{batch_.tokens()} * shape_.hidden, values[LayerValue::kInput]);
  for (const LayerStep& step : EncoderLayer()) {
    executor_.Forward(step, {weights, parameters}, values);
  }
}

void GradientRun::Head(const HeadParameters& parameters, const float* hidden, float* values) {
  const OutputRows rows = info_.head.rows();
  const uint32_t count = batch_.Count(rows);
  const size_t numbers = size_t{count} * shape_.hidden;
  wanted_.resize(numbers);
  CopyRows(batch_, rows, shape_.hidden, hidden, wanted_.data());
  if (info_.labels_tokens())
    return ClassifyTokens(shape_, parameters, count, wanted_.data(), pool_, values);
  if (info_.embeds()) {
    HeadTraits pooling = info_.head;
    pooling.unit_length = false;
    const size_t d = shape_.hidden;
    pooled_.resize(batch_.sequences() * d);
    EmbedSequences(pooling, batch_, wanted_.data(), shape_.hidden, pooled_.data());
    std::ranges::copy(pooled_, values);
    if (!info_.head.unit_length) return;
    for (size_t s = 0; s < batch_.sequences(); ++s) MakeUnitLength({values + s * d, d});
    return;
  }
  const ClassifierHead head{shape_, info_.pooler, parameters};
  head.Pool(count, wanted_.data(), pool_, pooled_);
  pooler_sum_.assign(pooled_.begin(), pooled_.begin() + numbers);
  head.Classify(count, pooled_.data(), values);
}

void GradientRun::BeginBackward(const HeadParameters& parameters,
                                std::span<const float> value_gradient) {
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
  if (info_.embeds()) {
    PoolingGradient(value_gradient);
  } else {
    ClassifierGradient(parameters, value_gradient);
  }
}

void GradientRun::ClassifierGradient(const HeadParameters& parameters,
                                     std::span<const float> at_logits) {
  const OutputRows rows = info_.head.rows();
  const uint32_t d = shape_.hidden;
  const auto add_row = [d](const float* row, float factor, float* sum) {
    for (uint32_t i = 0; i < d; ++i) sum[i] += factor * row[i];
  };
  pool_.ParallelFor(batch_.Count(rows), [&](uint32_t row, uint32_t) {
    std::vector<float> at_pooled(d);
    for (uint32_t label = 0; label < shape_.labels; ++label) {
      add_row(&parameters[kClassifierWeight][size_t{label} * d],
              at_logits[size_t{row} * shape_.labels + label], at_pooled.data());
    }
    const size_t at = size_t{row} * d;
    if (info_.labels_tokens()) {  // no pooler is in front of the classifier, and a row is a token
      std::ranges::copy(at_pooled, &gradient_[at]);
      return;
    }
    PoolerGradient(info_.pooler, &pooler_sum_[at], &pooled_[at], d, at_pooled.data());
    std::vector<float> weights(d);
    float* token = &gradient_[size_t{batch_.TokenOf(rows, row)} * d];
    for (uint32_t out = 0; out < d; ++out) {
      parameters.pooler_weight.Row(out, d, weights.data());
      add_row(weights.data(), at_pooled[out], token);
    }
  });
}

void GradientRun::PoolingGradient(std::span<const float> at_embeddings) {
  const uint32_t d = shape_.hidden;
  pool_.ParallelFor(batch_.sequences(), [&](uint32_t s, uint32_t) {
    const auto own = at_embeddings.subspan(size_t{s} * d, d);
    std::vector<float> at_pooled(own.begin(), own.end());
    if (info_.head.unit_length) UnitLengthGradient({&pooled_[size_t{s} * d], d}, at_pooled);
    PoolingGradientOf(s, at_pooled);
  });
}

// Hands the gradient at what the rows of a sequence are pooled to on to these rows. The greatest of
// a column is the first of equal ones.
void GradientRun::PoolingGradientOf(uint32_t sequence, std::span<float> at_pooled) {
  const size_t d = shape_.hidden;
  const uint32_t first = batch_.offsets[sequence];
  const uint32_t count = batch_.offsets[sequence + 1] - first;
  float* rows = &gradient_[first * d];
  switch (info_.head.pooling) {
    case Pooling::kFirst:
      std::copy(at_pooled.begin(), at_pooled.end(), rows);
      return;
    case Pooling::kMean:
      for (float& value : at_pooled) value /= static_cast<float>(count);
      for (uint32_t row = 0; row < count; ++row)
        std::copy(at_pooled.begin(), at_pooled.end(), rows + row * d);
      return;
    case Pooling::kMaximum:
      for (size_t i = 0; i < d; ++i) {
        uint32_t row = 0;
        while (row + 1 < count && wanted_[(first + row) * d + i] != pooled_[sequence * d + i])
          ++row;
        rows[row * d + i] = at_pooled[i];
      }
      return;
    case Pooling::kNone:
    case Pooling::kLast:
      assert(false);  // a model that embeds pools
      return;
  }
}

void GradientRun::Backward(uint32_t layer, const DenseLayer& weights,
                           const LayerParameters& parameters) {
  const LayerProgram program = EncoderLayer();
  current_ = ValuesOf(layer, nullptr);
  for (const LayerStep& step : program) {
    if (IsComputedAgain(WrittenBy(step))) {
      executor_.Forward(step, {weights, parameters}, *current_);
    }
  }
  DenseGradients gradients = GradientPlaces();
  for (size_t i = program.size(); i-- > 0;) {
    executor_.Backward(program[i], {weights, parameters}, *current_, &gradients);
  }
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
  assert(current_);
  std::fill(out, out + size_t{batch_.sequences()} * shape_.width, 0.0);
  for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
    const LinearStep& step = StepOf(tensor.role);
    const DenseMatrix& changed = change[tensor.role];
    const float* in = (*current_)[step.in];
    const float* gradient = gradients_[step.out].data();
    if (IsCutByInputs(tensor)) {  // outputs are shared, and a slice has its own inputs
      executor_.ApplyBack(gradient, changed, product_.data(), false);
      AddShares(product_.data(), in, changed.ins, shape_.width, out);
      continue;
    }
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
  }
}

void GradientRun::Contributions(const DenseLayer& weights, double* heads, double* neurons) {
  assert(current_);
  for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
    if (!IsCutByInputs(tensor)) continue;
    const LinearStep& step = StepOf(tensor.role);
    const uint32_t shares = IsCutByHead(tensor) ? shape_.width : shape_.ffn;
    double* out = IsCutByHead(tensor) ? heads : neurons;
    std::fill(out, out + size_t{batch_.sequences()} * shares, 0.0);
    executor_.ApplyBack(gradients_[step.out].data(), weights[tensor.role], product_.data(), false);
    AddShares(product_.data(), (*current_)[step.in], weights[tensor.role].ins, shares, out);
  }
}

std::span<const float> GradientRun::gradient() const {
  return {gradient_.data(), size_t{batch_.tokens()} * shape_.hidden};
}

}  // namespace sti
