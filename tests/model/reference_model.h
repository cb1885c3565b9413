// A whole model in plain doubles, from the embeddings of one sequence to what its head gives: what
// gradients are held against. Slow and plain on purpose.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "importance/dense_layer.h"
#include "model/layer_parameters.h"
#include "model/reference_layer.h"
#include "types/model_info.h"

namespace sti::testing {

using DoubleLayer = ByRole<Home::kShard, Doubles>;  ///< each [ins, outs]

struct ReferenceModel {
  ModelInfo info;
  std::vector<DoubleLayer> layers;
  std::vector<LayerParameters> parameters;
  HeadParameters head;

  /// Returns logits, of each row where tokens are labelled, or the embedding.
  [[nodiscard]] Doubles Values(Doubles hidden) const {
    for (size_t layer = 0; layer < layers.size(); ++layer) hidden = RunLayer(layer, hidden);
    if (info.labels_tokens()) return Classified(hidden);
    return info.has_labels() ? RunHead(hidden) : Pooled(hidden);
  }

 private:
  // x W + bias
  [[nodiscard]] static Doubles Map(const Doubles& x, const Doubles& weights,
                                   const std::vector<float>& bias) {
    const size_t outs = bias.size();
    const size_t ins = weights.size() / outs;
    Doubles y = RowsOf(bias.data(), outs, x.size() / ins);
    for (size_t row = 0; row * ins < x.size(); ++row) {
      for (size_t in = 0; in < ins; ++in) {
        for (size_t out = 0; out < outs; ++out) {
          y[row * outs + out] += x[row * ins + in] * weights[in * outs + out];
        }
      }
    }
    return y;
  }

  [[nodiscard]] double Activated(double x) const {
    if (info.activation == Activation::kRelu) return std::max(x, 0.0);
    if (info.activation == Activation::kGelu) return x / 2 * std::erfc(-x / std::sqrt(2.0));
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }

  // Columns of one head.
  [[nodiscard]] static Doubles Head(const Doubles& x, size_t width, size_t first, size_t dim) {
    Doubles part;
    for (size_t at = first; at < x.size(); at += width) {
      part.insert(part.end(), x.begin() + at, x.begin() + at + dim);
    }
    return part;
  }

  [[nodiscard]] Doubles RunLayer(size_t layer, const Doubles& hidden) const {
    const LayerParameters& p = parameters[layer];
    const DoubleLayer& w = layers[layer];
    const size_t d = info.shape.hidden;
    const size_t dim = info.shape.head_dim();
    const Doubles q = Map(hidden, w[TensorRole::kQueryWeight], p[TensorRole::kQueryBias]);
    const Doubles k = Map(hidden, w[TensorRole::kKeyWeight], p[TensorRole::kKeyBias]);
    const Doubles v = Map(hidden, w[TensorRole::kValueWeight], p[TensorRole::kValueBias]);
    Doubles context(hidden.size());
    for (size_t first = 0; first < d; first += dim) {
      const Doubles part = ReferenceHead(Head(q, d, first, dim), Head(k, d, first, dim),
                                         Head(v, d, first, dim), dim);
      for (size_t i = 0; i < part.size(); ++i) context[i / dim * d + first + i % dim] = part[i];
    }
    Doubles attended = Map(context, w[TensorRole::kOutputWeight], p[TensorRole::kOutputBias]);
    for (size_t i = 0; i < hidden.size(); ++i) attended[i] += hidden[i];
    ReferenceNorm(&attended, p[TensorRole::kAttentionNormWeight], p[TensorRole::kAttentionNormBias],
                  info.layer_norm_eps);
    Doubles inner = Map(attended, w[TensorRole::kFfn1Weight], p[TensorRole::kFfn1Bias]);
    for (double& x : inner) x = Activated(x);
    Doubles out = Map(inner, w[TensorRole::kFfn2Weight], p[TensorRole::kFfn2Bias]);
    for (size_t i = 0; i < out.size(); ++i) out[i] += attended[i];
    ReferenceNorm(&out, p[TensorRole::kOutputNormWeight], p[TensorRole::kOutputNormBias],
                  info.layer_norm_eps);
    return out;
  }

  // Matrices of the head are [outs, ins].
  [[nodiscard]] static Doubles MapRows(const Doubles& x, const std::vector<float>& weights,
                                       const std::vector<float>& bias) {
    Doubles y(bias.begin(), bias.end());
    for (size_t out = 0; out < y.size(); ++out) {
      for (size_t in = 0; in < x.size(); ++in) y[out] += x[in] * weights[out * x.size() + in];
    }
    return y;
  }

  [[nodiscard]] Doubles Pooled(const Doubles& hidden) const {
    const size_t d = info.shape.hidden;
    const size_t rows = info.head.pooling == Pooling::kFirst ? 1 : hidden.size() / d;
    Doubles vector(d);
    for (size_t i = 0; i < d; ++i) {
      double sum = 0;
      double most = hidden[i];
      for (size_t row = 0; row < rows; ++row) {
        sum += hidden[row * d + i];
        most = std::max(most, hidden[row * d + i]);
      }
      const bool greatest = info.head.pooling == Pooling::kMaximum;
      vector[i] = greatest ? most : sum / static_cast<double>(rows);
    }
    double squares = 0;
    for (const double x : vector) squares += x * x;
    for (double& x : vector) x /= info.head.unit_length ? std::sqrt(squares) : 1;
    return vector;
  }

  [[nodiscard]] Doubles Classified(const Doubles& hidden) const {
    Doubles all;
    const size_t d = info.shape.hidden;
    for (size_t row = 0; row < hidden.size(); row += d) {
      const Doubles own(hidden.begin() + row, hidden.begin() + row + d);
      const Doubles logits =
          MapRows(own, head[TensorRole::kClassifierWeight], head[TensorRole::kClassifierBias]);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    return all;
  }

  [[nodiscard]] Doubles RunHead(const Doubles& hidden) const {
    const Doubles first(hidden.begin(), hidden.begin() + info.shape.hidden);
    std::vector<float> pooler(first.size() * first.size());
    for (uint32_t row = 0; row < info.shape.hidden; ++row) {
      head.pooler_weight.Row(row, info.shape.hidden, &pooler[row * first.size()]);
    }
    Doubles pooled = MapRows(first, pooler, head[TensorRole::kPoolerBias]);
    for (double& x : pooled) {
      if (info.pooler == PoolerActivation::kTanh) x = std::tanh(x);
      if (info.pooler == PoolerActivation::kRelu) x = std::max(x, 0.0);
      if (info.pooler == PoolerActivation::kGelu) x = x / 2 * std::erfc(-x / std::sqrt(2.0));
    }
    return MapRows(pooled, head[TensorRole::kClassifierWeight], head[TensorRole::kClassifierBias]);
  }
};

}  // namespace sti::testing
