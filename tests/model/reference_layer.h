// A layer in plain doubles, with its norms behind or in front: the definition that the kernels are
// held against.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "kernels/shard_encoder.h"
#include "model/layer_parameters.h"
#include "model/transformer.h"
#include "types/bits.h"

namespace sti::testing {

using Doubles = std::vector<double>;

inline std::vector<float> RandomFloats(size_t count, float spread, std::mt19937& random) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> numbers(count);
  for (float& x : numbers) x = normal(random);
  return numbers;
}

/// A layer of random shards and parameters.
struct TestLayer {
  TestLayer(const ModelShape& model_shape, uint32_t seed)
      : shape(model_shape), matrices(ShardMatrices(model_shape)) {
    std::mt19937 random(seed);
    for (uint32_t s = 0; s < shape.width; ++s) {
      const uint32_t bits = s % 6 == 5 ? kFullBits : 2 + s % 5;  // mixed fidelities
      const DataType type = s % 2 == 0 ? DataType::kF32 : DataType::kF16;
      shards.push_back(MakeShard(ShardWeights(shape), bits, type, 0.01, 0.1f, seed + s));
      views.push_back(shards.back().view);
    }
    for (const TensorSpec& tensor : TensorsAt(Home::kLayer)) {
      parameters[tensor.role] = RandomFloats(SizeOf(tensor, shape).count(), 0.5f, random);
    }
  }

  [[nodiscard]] std::vector<ShardView> Slices(std::span<const uint32_t> indexes) const {
    std::vector<ShardView> chosen;
    for (const uint32_t index : indexes) chosen.push_back(views[index]);
    return chosen;
  }

  ModelShape shape;
  ShardMatrixTable matrices;
  std::vector<TestShard> shards;
  std::vector<ShardView> views;
  LayerParameters parameters;
};

/// y [rows, outs] += x [rows, ins] W^T.
inline void AddProduct(const Doubles& x, const TestShard& shard, const ShardMatrix& matrix,
                       Doubles* y) {
  const size_t rows = x.size() / matrix.ins;
  for (size_t r = 0; r < rows; ++r) {
    for (uint32_t out = 0; out < matrix.outs; ++out) {
      for (uint32_t in = 0; in < matrix.ins; ++in) {
        (*y)[r * matrix.outs + out] += x[r * matrix.ins + in] * WeightAt(shard, matrix, out, in);
      }
    }
  }
}

inline Doubles RowsOf(const float* bias, size_t width, size_t rows) {
  Doubles y;
  for (size_t r = 0; r < rows; ++r) y.insert(y.end(), bias, bias + width);
  return y;
}

inline void ReferenceNorm(Doubles* x, const std::vector<float>& weight,
                          const std::vector<float>& bias, double eps) {
  const size_t d = weight.size();
  for (size_t row = 0; row < x->size(); row += d) {
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; i < d; ++i) mean += (*x)[row + i] / static_cast<double>(d);
    for (size_t i = 0; i < d; ++i) {
      variance += std::pow((*x)[row + i] - mean, 2) / static_cast<double>(d);
    }
    for (size_t i = 0; i < d; ++i) {
      (*x)[row + i] = ((*x)[row + i] - mean) / std::sqrt(variance + eps) * weight[i] + bias[i];
    }
  }
}

/// Weights of attention [length, length] of one head: a row a query.
inline Doubles ReferenceWeights(const Doubles& q, const Doubles& k, size_t dim) {
  assert(dim > 0);
  const size_t length = q.size() / dim;
  Doubles weights(length * length);
  for (size_t i = 0; i < length; ++i) {
    double* const row = weights.data() + i * length;
    double sum = 0;
    for (size_t j = 0; j < length; ++j) {
      double score = 0;
      for (size_t c = 0; c < dim; ++c) score += q[i * dim + c] * k[j * dim + c];
      sum += row[j] = std::exp(score / std::sqrt(static_cast<double>(dim)));
    }
    for (size_t j = 0; j < length; ++j) row[j] /= sum;
  }
  return weights;
}

/// Context [length, dim] of one head.
inline Doubles ReferenceHead(const Doubles& q, const Doubles& k, const Doubles& v, size_t dim) {
  const Doubles weights = ReferenceWeights(q, k, dim);
  const size_t length = q.size() / dim;
  Doubles context(q.size());
  for (size_t i = 0; i < length; ++i) {
    for (size_t j = 0; j < length; ++j) {
      for (size_t c = 0; c < dim; ++c)
        context[i * dim + c] += weights[i * length + j] * v[j * dim + c];
    }
  }
  return context;
}

/// One sequence through the slices of a layer, with the erf GELU: BERT's, or with its norms in
/// front of attention and of the FFN.
inline Doubles ReferenceLayer(const TestLayer& layer, std::span<const uint32_t> indexes,
                              Doubles hidden, double eps) {
  const LayerParameters& p = layer.parameters;
  const size_t d = layer.shape.hidden;
  const size_t dim = layer.shape.head_dim();
  const size_t neurons = layer.shape.slice_ffn();
  const size_t rows = hidden.size() / d;
  const bool before = layer.shape.norm_before;
  const auto norm_attention = [&](Doubles* x) {
    ReferenceNorm(x, p[TensorRole::kAttentionNormWeight], p[TensorRole::kAttentionNormBias], eps);
  };
  const auto norm_output = [&](Doubles* x) {
    ReferenceNorm(x, p[TensorRole::kOutputNormWeight], p[TensorRole::kOutputNormBias], eps);
  };
  Doubles input = hidden;
  if (before) norm_attention(&input);
  Doubles sums = RowsOf(p[TensorRole::kOutputBias].data(), d, rows);
  for (const uint32_t s : indexes) {
    Doubles q = RowsOf(p[TensorRole::kQueryBias].data() + s * dim, dim, rows);
    Doubles k = RowsOf(p[TensorRole::kKeyBias].data() + s * dim, dim, rows);
    Doubles v = RowsOf(p[TensorRole::kValueBias].data() + s * dim, dim, rows);
    AddProduct(input, layer.shards[s], layer.matrices[TensorRole::kQueryWeight], &q);
    AddProduct(input, layer.shards[s], layer.matrices[TensorRole::kKeyWeight], &k);
    AddProduct(input, layer.shards[s], layer.matrices[TensorRole::kValueWeight], &v);
    AddProduct(ReferenceHead(q, k, v, dim), layer.shards[s],
               layer.matrices[TensorRole::kOutputWeight], &sums);
  }
  for (size_t i = 0; i < hidden.size(); ++i) hidden[i] += sums[i];
  if (!before) norm_attention(&hidden);
  input = hidden;
  if (before) norm_output(&input);
  sums = RowsOf(p[TensorRole::kFfn2Bias].data(), d, rows);
  for (const uint32_t s : indexes) {
    Doubles inner = RowsOf(p[TensorRole::kFfn1Bias].data() + s * neurons, neurons, rows);
    AddProduct(input, layer.shards[s], layer.matrices[TensorRole::kFfn1Weight], &inner);
    for (double& x : inner) x = x / 2 * std::erfc(-x / std::sqrt(2.0));
    AddProduct(inner, layer.shards[s], layer.matrices[TensorRole::kFfn2Weight], &sums);
  }
  for (size_t i = 0; i < hidden.size(); ++i) hidden[i] += sums[i];
  if (!before) norm_output(&hidden);
  return hidden;
}

}  // namespace sti::testing
