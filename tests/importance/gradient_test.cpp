#include "importance/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/instruction_sets.h"
#include "model/reference_model.h"
#include "support/expect.h"

namespace sti {
namespace {

using testing::Doubles;
using testing::RandomFloats;
using testing::TestLayer;

constexpr uint32_t kOffsets[] = {0, 1, 8, 27};

ModelInfo Info(uint32_t width, uint32_t head_dim, uint32_t slice_ffn) {
  ModelInfo info;
  info.shape = {.layers = 2,
                .width = width,
                .hidden = width * head_dim,
                .ffn = width * slice_ffn,
                .vocabulary = 10,
                .max_positions = 64,
                .token_types = 2,
                .labels = 3};
  info.layer_norm_eps = 1e-12;
  return info;
}

/// The same of a model that embeds.
ModelInfo Embedding(Pooling pooling, bool unit_length) {
  ModelInfo info = Info(3, 5, 7);
  info.shape.labels = 0;
  info.shape.has_pooler = false;
  info.pooler = PoolerActivation::kNone;
  info.head = {HeadOutput::kEmbedding, pooling, unit_length};
  return info;
}

/// The same of a model that labels tokens.
ModelInfo TokenLabels() {
  ModelInfo info = Info(3, 5, 7);
  info.shape.has_pooler = false;
  info.pooler = PoolerActivation::kNone;
  info.head = HeadTraits::OfTokenLabels();
  return info;
}

/// A model of two random layers and a random head, three sequences, and the gradient at their
/// values: the loss of an example is a sum of its values with these factors.
struct World {
  explicit World(const ModelInfo& model) : info(model) {
    std::mt19937 random(5);
    const ModelShape& s = info.shape;
    for (uint32_t layer = 0; layer < s.layers; ++layer) {
      layers.emplace_back(s, 10 * layer + 1);
      dense.emplace_back();
      DecodeLayer(s, layers[layer].views, pool, &dense[layer]);
      change.emplace_back();
      for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
        const DenseMatrix& matrix = dense[layer][tensor.role];
        DenseMatrix& changed = change[layer][tensor.role];
        changed = matrix;
        changed.weights = RandomFloats(matrix.weights.size(), 0.05F, random);
      }
    }
    head.pooler_weight = StoredMatrix::Of(RandomFloats(size_t{s.hidden} * s.hidden, 0.2F, random));
    head[TensorRole::kPoolerBias] = RandomFloats(s.hidden, 0.2F, random);
    head[TensorRole::kClassifierWeight] = RandomFloats(size_t{s.labels} * s.hidden, 0.5F, random);
    head[TensorRole::kClassifierBias] = RandomFloats(s.labels, 0.5F, random);
    hidden = RandomFloats(size_t{batch.tokens()} * s.hidden, 1.0F, random);
    factors = RandomFloats(size_t{batch.Results(info.head)} * info.head_values(), 1.0F, random);
  }

  /// The weights with `step` times the change of one slice of one layer.
  [[nodiscard]] testing::ReferenceModel Moved(uint32_t layer, uint32_t slice, double step) const {
    testing::ReferenceModel model{info, {}, {}, head};
    for (uint32_t l = 0; l < info.shape.layers; ++l) {
      model.parameters.push_back(layers[l].parameters);
      model.layers.emplace_back();
      for (const TensorSpec& tensor : TensorsAt(Home::kShard)) {
        const TensorRole m = tensor.role;
        const DenseMatrix& matrix = dense[l][m];
        const bool by_inputs = m == TensorRole::kOutputWeight || m == TensorRole::kFfn2Weight;
        Doubles& weights = model.layers[l][m];
        for (size_t i = 0; i < size_t{matrix.ins} * matrix.outs; ++i) {
          const size_t at = by_inputs ? i / matrix.outs : i % matrix.outs;
          const size_t of = by_inputs ? matrix.ins : matrix.outs;
          const bool moves = l == layer && at * info.shape.width / of == slice;
          weights.push_back(matrix.weights[i] + (moves ? step * change[l][m].weights[i] : 0));
        }
      }
    }
    return model;
  }

  [[nodiscard]] double Loss(const testing::ReferenceModel& model, uint32_t sequence) const {
    const size_t d = info.shape.hidden;
    const Doubles rows(hidden.begin() + kOffsets[sequence] * d,
                       hidden.begin() + kOffsets[sequence + 1] * d);
    const Doubles values = model.Values(rows);
    const size_t first = info.labels_tokens() ? kOffsets[sequence] : sequence;
    double loss = 0;
    for (size_t i = 0; i < values.size(); ++i)
      loss += values[i] * factors[first * info.head_values() + i];
    return loss;
  }

  ModelInfo info;
  ThreadPool pool{1};
  Batch batch{kOffsets};
  std::vector<TestLayer> layers;
  std::vector<DenseLayer> dense;
  std::vector<DenseLayer> change;
  HeadParameters head;
  std::vector<float> hidden;
  std::vector<float> factors;
};

struct Gradients {
  std::vector<float> logits;
  std::vector<double> derivatives;  ///< [layers, sequences, M]
};

Gradients Differentiate(const World& world, uint32_t threads) {
  ThreadPool pool(threads);
  GradientRun pass(world.info, pool);
  pass.Begin(world.batch);
  const ModelShape& shape = world.info.shape;
  std::vector<float> hidden = world.hidden;
  for (uint32_t l = 0; l < shape.layers; ++l) {
    pass.Forward(l, world.dense[l], world.layers[l].parameters, hidden.data());
  }
  Gradients outcome;
  outcome.logits.resize(world.factors.size());
  pass.Head(world.head, hidden.data(), outcome.logits.data());
  pass.BeginBackward(world.head, world.factors);
  const size_t each = size_t{world.batch.sequences()} * shape.width;
  outcome.derivatives.resize(each * shape.layers);
  for (uint32_t l = shape.layers; l-- > 0;) {
    pass.Backward(l, world.dense[l], world.layers[l].parameters);
    pass.Derivatives(world.change[l], &outcome.derivatives[l * each]);
  }
  return outcome;
}

void ExpectAgreesWithDifferences(const World& world) {
  constexpr double kStep = 1e-5;
  const Gradients outcome = Differentiate(world, 2);
  const ModelShape& shape = world.info.shape;
  const double* derivative = outcome.derivatives.data();
  for (uint32_t l = 0; l < shape.layers; ++l) {
    for (uint32_t s = 0; s < world.batch.sequences(); ++s) {
      for (uint32_t slice = 0; slice < shape.width; ++slice) {
        const double more = world.Loss(world.Moved(l, slice, kStep), s);
        const double less = world.Loss(world.Moved(l, slice, -kStep), s);
        const double slope = (more - less) / (2 * kStep);
        ASSERT_NEAR(*derivative++, slope, 2e-5 * (1 + std::abs(slope)))
            << "layer " << l << ", example " << s << ", slice " << slice;
      }
    }
  }
}

TEST(GradientRun, AgreesWithDifferencesForEachActivationAndPooler) {
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu}) {
    for (const PoolerActivation pooler :
         {PoolerActivation::kTanh, PoolerActivation::kRelu, PoolerActivation::kGelu}) {
      ModelInfo info = Info(2, 8, 12);
      info.activation = activation;
      info.pooler = pooler;
      ExpectAgreesWithDifferences(World(info));
    }
  }
}

TEST(GradientRun, AgreesWithDifferencesForOddSizesOnEachInstructionSet) {
  const World world(Info(3, 5, 7));
  testing::ForEachInstructionSet([&] { ExpectAgreesWithDifferences(world); });
}

TEST(GradientRun, AgreesWithDifferencesForEachPoolingAtUnitLengthAndWithout) {
  for (const Pooling pooling : {Pooling::kFirst, Pooling::kMean, Pooling::kMaximum}) {
    for (const bool unit_length : {false, true})
      ExpectAgreesWithDifferences(World(Embedding(pooling, unit_length)));
  }
}

TEST(GradientRun, AgreesWithDifferencesForTokenLabels) {
  ExpectAgreesWithDifferences(World(TokenLabels()));
}

TEST(GradientRun, BackwardPassesMayBeginAgain) {
  const World world(Embedding(Pooling::kMaximum, true));
  const std::vector<double> expected = Differentiate(world, 1).derivatives;
  ThreadPool pool(1);
  GradientRun pass(world.info, pool);
  pass.Begin(world.batch);
  std::vector<float> hidden = world.hidden;
  for (uint32_t l = 0; l < 2; ++l)
    pass.Forward(l, world.dense[l], world.layers[l].parameters, hidden.data());
  std::vector<float> values(world.factors.size());
  pass.Head(world.head, hidden.data(), values.data());
  std::vector<double> derivatives(size_t{3} * world.info.shape.width);
  for (const bool first : {true, false}) {
    pass.BeginBackward(world.head, first ? values : world.factors);
    for (uint32_t l = 2; l-- > 0;) {
      pass.Backward(l, world.dense[l], world.layers[l].parameters);
      pass.Derivatives(world.change[l], derivatives.data());
    }
  }
  EXPECT_TRUE(std::equal(derivatives.begin(), derivatives.end(), expected.begin()));
}

/// [layers, sequences, shares] what pass.Contributions gives of heads or of neurons.
std::vector<double> ContributionsOf(const World& world, bool of_heads) {
  ThreadPool pool(2);
  GradientRun pass(world.info, pool);
  pass.Begin(world.batch);
  const ModelShape& shape = world.info.shape;
  std::vector<float> hidden = world.hidden;
  for (uint32_t l = 0; l < shape.layers; ++l)
    pass.Forward(l, world.dense[l], world.layers[l].parameters, hidden.data());
  std::vector<float> logits(world.factors.size());
  pass.Head(world.head, hidden.data(), logits.data());
  pass.BeginBackward(world.head, world.factors);
  const size_t sequences = world.batch.sequences();
  std::vector<double> heads(sequences * shape.width);
  std::vector<double> neurons(sequences * shape.ffn);
  const size_t each = of_heads ? heads.size() : neurons.size();
  std::vector<double> all(each * shape.layers);
  for (uint32_t l = shape.layers; l-- > 0;) {
    pass.Backward(l, world.dense[l], world.layers[l].parameters);
    pass.Contributions(world.dense[l], heads.data(), neurons.data());
    std::ranges::copy(of_heads ? heads : neurons, all.begin() + static_cast<ptrdiff_t>(l * each));
  }
  return all;
}

// The output of a head or a neuron grows as its weights in O or FFN2 do: one neuron a slice, so
// that slices tell neurons apart.
TEST(GradientRun, ContributionsAreDerivativesByWhatIsAdded) {
  for (const TensorRole matrix : {TensorRole::kOutputWeight, TensorRole::kFfn2Weight}) {
    World world(Info(3, 5, 1));
    for (uint32_t l = 0; l < world.info.shape.layers; ++l) {
      for (DenseMatrix& changed : world.change[l]) std::ranges::fill(changed.weights, 0.0F);
      world.change[l][matrix].weights = world.dense[l][matrix].weights;
    }
    const std::vector<double> expected = Differentiate(world, 1).derivatives;
    const std::vector<double> found = ContributionsOf(world, matrix == TensorRole::kOutputWeight);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], 1e-6 * (1 + std::abs(expected[i]))) << i;
  }
}

TEST(GradientRun, HasTheSameBitsForAnyThreadsAndCompany) {
  const World world(Info(3, 8, 20));
  const Gradients all = Differentiate(world, 1);
  EXPECT_EQ(Differentiate(world, 3).derivatives, all.derivatives);
  // The last sequence alone.
  World alone(world.info);
  const uint32_t offsets[] = {0, kOffsets[3] - kOffsets[2]};
  alone.batch = {offsets};
  alone.hidden.erase(alone.hidden.begin(),
                     alone.hidden.begin() + size_t{kOffsets[2]} * world.info.shape.hidden);
  alone.factors.erase(alone.factors.begin(), alone.factors.end() - world.info.shape.labels);
  const Gradients last = Differentiate(alone, 1);
  const uint32_t width = world.info.shape.width;
  for (uint32_t l = 0; l < world.info.shape.layers; ++l) {
    for (uint32_t slice = 0; slice < width; ++slice) {
      EXPECT_EQ(last.derivatives[l * width + slice], all.derivatives[(l * 3 + 2) * width + slice]);
    }
  }
}

TEST(GradientRun, LogitsHaveTheBitsOfTheTransformer) {
  testing::ForEachInstructionSet([] {
    World world(Info(4, 16, 48));
    auto transformer = Transformer::Create(world.info, world.pool, {Backend::kNative});
    ASSERT_TRUE(Succeeded(transformer));
    std::vector<uint32_t> slices(4);
    std::iota(slices.begin(), slices.end(), 0U);
    std::vector<float> hidden = world.hidden;
    for (const TestLayer& layer : world.layers) {
      (*transformer)
          ->RunLayer({world.batch, {layer.views, slices, layer.parameters}}, hidden.data());
    }
    std::vector<float> logits(world.factors.size());
    CopyRows(world.batch, OutputRows::kFirst, world.info.shape.hidden, hidden.data(),
             hidden.data());
    (*transformer)->Classify(world.batch.sequences(), hidden.data(), world.head, logits.data());
    EXPECT_EQ(Differentiate(world, 2).logits, logits);
  });
}

TEST(GradientRun, EmbeddingsAndTokenLabelsHaveTheBitsOfTheTransformer) {
  for (const ModelInfo& info : {Embedding(Pooling::kFirst, true), Embedding(Pooling::kMean, true),
                                Embedding(Pooling::kMaximum, true), TokenLabels()}) {
    World world(info);
    auto transformer = Transformer::Create(world.info, world.pool, {Backend::kNative});
    ASSERT_TRUE(Succeeded(transformer));
    const std::vector<uint32_t> slices{0, 1, 2};
    std::vector<float> hidden = world.hidden;
    for (const TestLayer& layer : world.layers) {
      (*transformer)
          ->RunLayer({world.batch, {layer.views, slices, layer.parameters}}, hidden.data());
    }
    std::vector<float> values(world.factors.size());
    CopyRows(world.batch, world.info.head.rows(), world.info.shape.hidden, hidden.data(),
             hidden.data());
    (*transformer)->Head(world.batch, hidden.data(), world.head, values.data());
    EXPECT_EQ(Differentiate(world, 2).logits, values);
  }
}

}  // namespace
}  // namespace sti
