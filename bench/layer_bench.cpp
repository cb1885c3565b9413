// T_comp(l, m) with 6-bit decoding (STI 5.2), and how much of it is decoding.
//
// In each round a layer runs, and then the same shards are decoded alone on the same threads,
// stretch by stretch as the layer does it. Shards of several layers take turns, so that encoded
// weights come from memory and not from a cache, as they do after a read.
#include <benchmark/benchmark.h>

#include <array>
#include <map>
#include <memory>
#include <numeric>

#include "base/aligned_buffer.h"
#include "fma_peak.h"
#include "kernels/shard_encoder.h"
#include "medians.h"
#include "model/transformer.h"
#include "reports.h"
#include "support/random.h"

namespace sti {
namespace {

constexpr uint32_t kLayers = 4;
constexpr uint32_t kSlices = 12;
constexpr uint32_t kBits = 6;
// As fine-tuned BERTs have it: weights beyond three standard deviations, few beyond six.
constexpr double kOutlierShare = 0.0057;
constexpr float kSpread = 0.04F;
constexpr float kLargestOutlier = 5 * kSpread;
constexpr uint32_t kStretch = 256 * kPanelWidth;

ModelInfo InfoOf(uint32_t hidden) {
  ModelInfo info;
  info.shape = {kLayers, kSlices, hidden, 4 * hidden, 1000, 512, 2, 2};
  info.data_type = DataType::kF16;
  return info;
}

LayerParameters RandomParameters(const ModelShape& shape, TestRandom& random) {
  LayerParameters p;
  for (const TensorSpec& tensor : TensorsAt(Home::kLayer)) {
    const bool is_norm = tensor.role == TensorRole::kAttentionNormWeight ||
                         tensor.role == TensorRole::kOutputNormWeight;
    p[tensor.role] = random.Normals(SizeOf(tensor, shape).count(), 0.02, is_norm ? 1 : 0);
  }
  return p;
}

/// Layers of one shape; made once, since making takes longer than measuring.
struct Layers {
  ModelInfo info;
  std::vector<testing::TestShard> shards;          ///< [kLayers * kSlices]
  std::array<std::vector<float>, kLayers> scales;  ///< of all shards of a layer
  LayerParameters parameters;

  static const Layers& Of(uint32_t hidden) {
    static std::map<uint32_t, std::unique_ptr<Layers>> made;
    std::unique_ptr<Layers>& layers = made[hidden];
    if (layers) return *layers;
    layers = std::make_unique<Layers>();
    layers->info = InfoOf(hidden);
    TestRandom random(hidden);
    layers->parameters = RandomParameters(layers->info.shape, random);
    for (std::vector<float>& scales : layers->scales) {
      scales = random.Normals(CountAt(Home::kShard) * hidden, 0.1, 1);
    }
    for (uint32_t i = 0; i < kLayers * kSlices; ++i) {
      layers->shards.push_back(testing::MakeShard(ShardWeights(layers->info.shape), kBits,
                                                  DataType::kF16, kOutlierShare, kSpread, i,
                                                  kLargestOutlier));
      testing::TestShard& shard = layers->shards.back();
      shard.weights = {};
      shard.view.scales = layers->scales[i / kSlices].data();
    }
    return *layers;
  }

  [[nodiscard]] std::vector<ShardView> Views(uint32_t layer, uint32_t width) const {
    std::vector<ShardView> views;
    for (uint32_t s = 0; s < width; ++s) views.push_back(shards[layer * kSlices + s].view);
    return views;
  }
};

// Each weight of the shards once, into memory that stays in cache.
void DecodeAll(std::span<const ShardView> views, uint64_t weights, ThreadPool& pool,
               std::vector<AlignedBuffer>& scratch) {
  const auto stretches = static_cast<uint32_t>((weights + kStretch - 1) / kStretch);
  const auto count = static_cast<uint32_t>(views.size()) * stretches;
  pool.ParallelFor(count, [&](uint32_t index, uint32_t worker) {
    const uint64_t first = uint64_t{index % stretches} * kStretch;
    auto* out = reinterpret_cast<float*>(scratch[worker].data());
    DecodeWeights(views[index / stretches], first, std::min<uint64_t>(kStretch, weights - first),
                  out);
    benchmark::DoNotOptimize(out[0]);
  });
}

void Layer(benchmark::State& state) {
  const auto hidden = static_cast<uint32_t>(state.range(0));
  const auto width = static_cast<uint32_t>(state.range(1));
  const auto threads = static_cast<uint32_t>(state.range(2));
  const auto length = static_cast<uint32_t>(state.range(3));
  const Layers& layers = Layers::Of(hidden);
  ThreadPool pool(threads);
  const auto type = static_cast<ComputeType>(state.range(4));
  auto transformer = Transformer::Create(layers.info, pool, {Backend::kNative, type});
  if (!transformer.ok()) {
    state.SkipWithError(transformer.error().Message().c_str());
    return;
  }
  (*transformer)->Reserve(length, width);
  std::vector<AlignedBuffer> scratch;
  for (uint32_t i = 0; i < threads; ++i) scratch.emplace_back(kStretch * sizeof(float));
  std::array<std::vector<ShardView>, kLayers> views;
  for (uint32_t layer = 0; layer < kLayers; ++layer) views[layer] = layers.Views(layer, width);
  std::vector<uint32_t> slices(width);
  std::iota(slices.begin(), slices.end(), 0U);
  const uint32_t offsets[2] = {0, length};
  TestRandom random(1);
  const std::vector<float> normals = random.Normals(size_t{length} * hidden, 1);
  AlignedVector<float> values(normals.begin(), normals.end());
  std::vector<double> layer_s;
  std::vector<double> decode_s;
  std::vector<double> peaks;
  uint32_t next = 0;
  for (auto _ : state) {
    const std::vector<ShardView>& turn = views[next++ % kLayers];
    layer_s.push_back(TimeSeconds([&] {
      (*transformer)->RunLayer({{offsets}, {turn, slices, layers.parameters}}, values.data());
    }));
    state.SetIterationTime(layer_s.back());
    // Another layer's, which this round has not touched.
    decode_s.push_back(TimeSeconds([&] {
      DecodeAll(views[(next + 1) % kLayers], ShardWeights(layers.info.shape), pool, scratch);
    }));
    peaks.push_back(FmaPeakGflops(20000));
  }
  const double weights = static_cast<double>(ShardWeights(layers.info.shape)) * width;
  const double layer = Median(layer_s);
  const double decode = Median(decode_s);
  state.counters["layer_us"] = layer * 1e6;
  state.counters["decode_us"] = decode * 1e6;
  state.counters["decode_share"] = decode / layer;
  // The share is of the peak of as many cores as there are threads, each like the caller's.
  state.counters["share"] = 2 * weights * length / layer / 1e9 / (Median(peaks) * threads);
  // Products of weights only; attention's own are about 4 % more at BERT-base and 128 tokens.
  state.counters["GFLOP_s"] = 2 * weights * length / layer / 1e9;
}
BENCHMARK(Layer)
    ->ArgNames({"hidden", "m", "threads", "l", "compute"})
    ->ArgsProduct({{768, 384}, {3, 6, 12}, {1, 2}, {1, 16, 64, 128, 512}, {0, 1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

static const int kNarrowerLayers = RegisterNarrower("Layer", Layer, [](auto* narrower) {
  narrower->ArgNames({"hidden", "m", "threads", "l", "compute"})
      ->Args({768, 12, 1, 128, 0})
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
});

}  // namespace
}  // namespace sti
