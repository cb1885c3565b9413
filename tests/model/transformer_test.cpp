#include "model/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/instruction_sets.h"
#include "model/reference_layer.h"

namespace sti {
namespace {

using testing::TestLayer;

constexpr double kEps = 1e-12;

ModelShape Shape(uint32_t width, uint32_t head_dim, uint32_t slice_ffn) {
  return {.layers = 2,
          .width = width,
          .hidden = width * head_dim,
          .ffn = width * slice_ffn,
          .vocabulary = 10,
          .max_positions = 128,
          .token_types = 2,
          .labels = 3};
}

/// The same with its norms in front of attention and FFN.
ModelShape NormsBefore(ModelShape shape) {
  shape.norm_before = true;
  return shape;
}

ModelInfo Info(const ModelShape& shape) {
  ModelInfo info;
  info.shape = shape;
  info.layer_norm_eps = kEps;
  return info;
}

struct Run {
  uint32_t threads = 1;
  Backend backend = Backend::kNative;
  ComputeType type = ComputeType::kFp32;
};

std::vector<float> RunLayer(const TestLayer& layer, std::span<const uint32_t> indexes,
                            std::span<const uint32_t> offsets, std::vector<float> hidden,
                            const Run& run) {
  ThreadPool pool(run.threads);
  auto transformer = Transformer::Create(Info(layer.shape), pool, {run.backend, run.type});
  EXPECT_TRUE(transformer.ok());
  if (!transformer.ok()) return {};
  const auto slices = layer.Slices(indexes);
  (*transformer)->RunLayer({{offsets}, {slices, indexes, layer.parameters}}, hidden.data());
  return hidden;
}

void ExpectAgrees(const TestLayer& layer, std::span<const uint32_t> indexes,
                  std::span<const uint32_t> offsets, const std::vector<float>& hidden,
                  const std::vector<float>& result) {
  ASSERT_EQ(result.size(), hidden.size());
  const size_t d = layer.shape.hidden;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    const testing::Doubles sequence(hidden.begin() + offsets[s] * d,
                                    hidden.begin() + offsets[s + 1] * d);
    const auto expected = ReferenceLayer(layer, indexes, sequence, kEps);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(result[offsets[s] * d + i], expected[i], 2e-4) << "sequence " << s << " at " << i;
    }
  }
}

TEST(Transformer, AgreesWithDoublesOnAnyShapeSubmodelAndThreadCount) {
  const std::vector<uint32_t> offsets = {0, 1, 18, 67};  // one token; one block; two blocks
  for (const auto& shape :
       {Shape(12, 26, 100), Shape(2, 64, 48), Shape(3, 5, 7), NormsBefore(Shape(12, 26, 100)),
        NormsBefore(Shape(2, 64, 48)), NormsBefore(Shape(3, 5, 7))}) {
    const TestLayer layer(shape, 11);
    std::mt19937 random(3);
    const auto hidden = testing::RandomFloats(offsets.back() * shape.hidden, 1, random);
    std::vector<uint32_t> all(shape.width);
    std::iota(all.begin(), all.end(), 0U);
    const std::vector<uint32_t> some = {shape.width - 1, 0};
    const std::vector<uint32_t> one = {1};
    uint32_t threads = 1;
    for (const auto& indexes : {all, some, one}) {
      const auto result = RunLayer(layer, indexes, offsets, hidden, {.threads = threads++});
      ExpectAgrees(layer, indexes, offsets, hidden, result);
    }
  }
}

TEST(Transformer, EveryInstructionSetAgrees) {
  for (const auto& shape : {Shape(4, 26, 20), NormsBefore(Shape(4, 26, 20))}) {
    const TestLayer layer(shape, 5);
    std::mt19937 random(4);
    const std::vector<uint32_t> offsets = {0, 9, 30};
    const std::vector<uint32_t> indexes = {0, 1, 3};
    const auto hidden = testing::RandomFloats(offsets.back() * shape.hidden, 1, random);
    testing::ForEachInstructionSet([&] {
      ExpectAgrees(layer, indexes, offsets, hidden, RunLayer(layer, indexes, offsets, hidden, {}));
    });
  }
}

// Layers end in a norm, so numbers are about one: what rounding does shows in their distance.
TEST(Transformer, LowerPrecisionsErrLittle) {
  const std::vector<uint32_t> offsets = {0, 1, 18, 67};
  for (const auto& shape :
       {Shape(4, 32, 64), Shape(3, 26, 20), Shape(3, 5, 7), NormsBefore(Shape(3, 26, 20))}) {
    const TestLayer layer(shape, 11);
    std::mt19937 random(3);
    const auto hidden = testing::RandomFloats(offsets.back() * shape.hidden, 1, random);
    const std::vector<uint32_t> indexes = {2, 0};
    const auto exact = RunLayer(layer, indexes, offsets, hidden, {});
    for (const ComputeType type : ComputeTypes()) {
      const auto result = RunLayer(layer, indexes, offsets, hidden, {.threads = 2, .type = type});
      ASSERT_EQ(result.size(), exact.size());
      double error = 0;
      double size = 0;
      for (size_t i = 0; i < exact.size(); ++i) {
        error += double{result[i] - exact[i]} * (result[i] - exact[i]);
        size += double{exact[i]} * exact[i];
      }
      EXPECT_LT(std::sqrt(error / size), type == ComputeType::kInt8 ? 0.02 : 0.005)
          << NameOf(type) << " hidden " << shape.hidden;
    }
  }
}

TEST(Transformer, OpenBlasAgrees) {
  const auto shape = Shape(3, 26, 20);
  const TestLayer layer(shape, 5);
  ThreadPool pool(1);
  const auto created = Transformer::Create(Info(shape), pool, {Backend::kOpenBlas});
  if (!created.ok()) GTEST_SKIP() << created.error().Message();
  EXPECT_EQ((*created)->kernel().name, "openblas-fp32");
  std::mt19937 random(4);
  const std::vector<uint32_t> offsets = {0, 9, 30};
  const std::vector<uint32_t> indexes = {2, 0};
  const auto hidden = testing::RandomFloats(offsets.back() * shape.hidden, 1, random);
  const auto result =
      RunLayer(layer, indexes, offsets, hidden, {.threads = 2, .backend = Backend::kOpenBlas});
  ExpectAgrees(layer, indexes, offsets, hidden, result);
}

// Same bits for any thread count, and for a sequence alone or in any company.
class OfEitherNorm : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] static ModelShape Shape(uint32_t width, uint32_t head_dim, uint32_t slice_ffn) {
    const ModelShape shape = sti::Shape(width, head_dim, slice_ffn);
    return GetParam() ? NormsBefore(shape) : shape;
  }
};

TEST_P(OfEitherNorm, BitsDependOnNothingButTheSequence) {
  const auto shape = Shape(6, 26, 50);
  const TestLayer layer(shape, 7);
  std::mt19937 random(9);
  const std::vector<uint32_t> offsets = {0, 3, 60, 61, 110};
  const std::vector<uint32_t> indexes = {0, 2, 3, 5};
  const size_t d = shape.hidden;
  const auto hidden = testing::RandomFloats(offsets.back() * d, 1, random);
  testing::ForEachInstructionSet([&] {
    const auto together = RunLayer(layer, indexes, offsets, hidden, {});
    for (const uint32_t threads : {2U, 3U}) {
      ASSERT_EQ(RunLayer(layer, indexes, offsets, hidden, {.threads = threads}), together);
    }
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      const std::vector<uint32_t> alone = {0, offsets[s + 1] - offsets[s]};
      const std::vector<float> sequence(hidden.begin() + offsets[s] * d,
                                        hidden.begin() + offsets[s + 1] * d);
      const std::vector<float> expected(together.begin() + offsets[s] * d,
                                        together.begin() + offsets[s + 1] * d);
      ASSERT_EQ(RunLayer(layer, indexes, alone, sequence, {}), expected) << s;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Transformer, OfEitherNorm, ::testing::Bool(), [](const auto& tried) {
  return tried.param ? "NormsBefore" : "NormsBehind";
});

// Each query gives weights that sum to one in each slice, and the sums change no bit of the layer.
TEST(Transformer, WhatTokensReceiveAddsUpToAllThatQueriesGive) {
  const auto shape = NormsBefore(Shape(6, 26, 50));
  const TestLayer layer(shape, 7);
  std::mt19937 random(9);
  const std::vector<uint32_t> offsets = {0, 3, 60};
  const std::vector<uint32_t> indexes = {0, 2, 3, 5};
  const auto input = testing::RandomFloats(offsets.back() * shape.hidden, 1, random);
  for (const ComputeType type : ComputeTypes()) {
    ThreadPool pool(2);
    auto transformer = Transformer::Create(Info(shape), pool, {Backend::kNative, type});
    ASSERT_TRUE(transformer.ok());
    auto hidden = input;
    std::vector<float> received(offsets.back(), 1);
    const auto slices = layer.Slices(indexes);
    (*transformer)
        ->RunLayer(
            {{offsets}, {slices, indexes, layer.parameters}, OutputRows::kAll, received.data()},
            hidden.data());
    EXPECT_EQ(hidden, RunLayer(layer, indexes, offsets, input, {.type = type}));
    for (size_t s = 0; s + 1 < offsets.size(); ++s) {
      const auto first = received.begin() + offsets[s];
      const double sum = std::accumulate(first, received.begin() + offsets[s + 1], 0.0);
      const double tokens = offsets[s + 1] - offsets[s];
      EXPECT_NEAR(sum, tokens + tokens * static_cast<double>(indexes.size()), 0.01 * tokens);
    }
  }
}

TEST(Transformer, ReserveSetsTheWorkingBytes) {
  ThreadPool pool(1);
  const auto transformer = Transformer::Create(Info(Shape(12, 26, 100)), pool, {Backend::kNative});
  ASSERT_TRUE(transformer.ok());
  EXPECT_EQ((*transformer)->kernel(), KernelFor({Backend::kNative}));
  (*transformer)->Reserve(128, 12);
  const uint64_t large = (*transformer)->working_bytes();
  (*transformer)->Reserve(16, 3);
  EXPECT_LT((*transformer)->working_bytes(), large);
  const TestLayer layer(Shape(12, 26, 100), 1);
  std::vector<float> hidden(128 * 312, 0.5f);
  const std::vector<uint32_t> offsets = {0, 128};
  const std::vector<uint32_t> indexes = {0, 1, 2, 3};
  const auto slices = layer.Slices(indexes);
  (*transformer)->RunLayer({{offsets}, {slices, indexes, layer.parameters}}, hidden.data());
  EXPECT_GT((*transformer)->working_bytes(), 0U);
  EXPECT_LT((*transformer)->working_bytes(), large);
}

TEST(Transformer, FinishEmbeddingsNormalisesRows) {
  const auto shape = Shape(3, 5, 7);
  ThreadPool pool(2);
  const auto transformer = Transformer::Create(Info(shape), pool, {Backend::kNative});
  ASSERT_TRUE(transformer.ok());
  std::mt19937 random(1);
  auto hidden = testing::RandomFloats(19 * shape.hidden, 2, random);
  EmbeddingParameters parameters;
  const auto& weight = parameters[TensorRole::kEmbeddingNormWeight] =
      testing::RandomFloats(shape.hidden, 1, random);
  const auto& bias = parameters[TensorRole::kEmbeddingNormBias] =
      testing::RandomFloats(shape.hidden, 1, random);
  testing::Doubles expected(hidden.begin(), hidden.end());
  testing::ReferenceNorm(&expected, weight, bias, kEps);
  (*transformer)->FinishEmbeddings(hidden.data(), 19, parameters);
  for (size_t i = 0; i < hidden.size(); ++i) ASSERT_NEAR(hidden[i], expected[i], 1e-4);
}

// E below and above d: the sums lie in a working buffer, which is counted.
TEST(Transformer, FinishEmbeddingsProjectsRowsOfAnotherWidth) {
  for (const uint32_t width : {7U, 23U}) {
    auto shape = Shape(3, 5, 7);
    shape.embedding = width;
    const size_t d = shape.hidden;
    ThreadPool pool(2);
    const auto transformer = Transformer::Create(Info(shape), pool, {Backend::kNative});
    ASSERT_TRUE(transformer.ok());
    (*transformer)->Reserve(19, 3);
    EXPECT_EQ((*transformer)->working_bytes(),
              Transformer::RoomFor(shape, {Backend::kNative}, false, 2, {19, 3}));
    std::mt19937 random(1);
    EmbeddingParameters parameters;
    for (const TensorSpec& tensor : TensorsAt(Home::kEmbedding)) {
      parameters[tensor.role] = testing::RandomFloats(SizeOf(tensor, shape).count(), 1, random);
    }
    std::vector<float> hidden(19 * d);
    float* const sums = (*transformer)->EmbeddingSums(19, hidden.data());
    EXPECT_NE(sums, hidden.data());
    const auto rows = testing::RandomFloats(19 * width, 2, random);
    std::copy(rows.begin(), rows.end(), sums);
    (*transformer)->FinishEmbeddings(hidden.data(), 19, parameters);
    testing::Doubles normed(rows.begin(), rows.end());
    testing::ReferenceNorm(&normed, parameters[TensorRole::kEmbeddingNormWeight],
                           parameters[TensorRole::kEmbeddingNormBias], kEps);
    for (size_t row = 0; row < 19; ++row) {
      for (size_t out = 0; out < d; ++out) {
        double expected = parameters[TensorRole::kProjectionBias][out];
        for (size_t i = 0; i < width; ++i) {
          expected +=
              normed[row * width + i] * parameters[TensorRole::kProjectionWeight][out * width + i];
        }
        ASSERT_NEAR(hidden[row * d + out], expected, 1e-4);
      }
    }
  }
}

TEST(Transformer, HeadClassifiesRows) {
  const auto shape = Shape(3, 6, 7);
  const size_t d = shape.hidden;
  ThreadPool pool(2);
  const auto transformer = Transformer::Create(Info(shape), pool, {Backend::kNative});
  ASSERT_TRUE(transformer.ok());
  std::mt19937 random(2);
  const auto pooler = testing::RandomFloats(d * d, 0.3f, random);
  HeadParameters head{StoredMatrix::Of(pooler)};
  head[TensorRole::kPoolerBias] = testing::RandomFloats(d, 1, random);
  head[TensorRole::kClassifierWeight] = testing::RandomFloats(shape.labels * d, 1, random);
  head[TensorRole::kClassifierBias] = testing::RandomFloats(shape.labels, 1, random);
  const auto hidden = testing::RandomFloats(2 * d, 1, random);
  std::vector<float> logits(2 * shape.labels);
  (*transformer)->Classify(2, hidden.data(), head, logits.data());
  for (size_t s = 0; s < 2; ++s) {
    for (size_t label = 0; label < shape.labels; ++label) {
      double sum = head[TensorRole::kClassifierBias][label];
      for (size_t o = 0; o < d; ++o) {
        double pooled = head[TensorRole::kPoolerBias][o];
        for (size_t i = 0; i < d; ++i) {
          pooled += double{pooler[o * d + i]} * hidden[s * d + i];
        }
        sum += std::tanh(pooled) * head[TensorRole::kClassifierWeight][label * d + o];
      }
      EXPECT_NEAR(logits[s * shape.labels + label], sum, 1e-4);
    }
  }
}

TEST(Softmax, RowsSumToOne) {
  std::vector<float> logits = {1, 2, 3, -100, 0, 100};
  Softmax(logits.data(), 2, 3);
  EXPECT_NEAR(logits[0] + logits[1] + logits[2], 1, 1e-6);
  EXPECT_NEAR(logits[0], std::exp(-2) / (1 + std::exp(-1) + std::exp(-2)), 1e-6);
  EXPECT_EQ(logits[5], 1);
}

}  // namespace
}  // namespace sti
