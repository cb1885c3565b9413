// One linear map of a layer from encoded shards: what decoding, outliers and the products of each
// compute type take of it.
#include <benchmark/benchmark.h>

#include "base/aligned_buffer.h"
#include "kernels/linear.h"
#include "kernels/shard_encoder.h"
#include "medians.h"
#include "reports.h"
#include "support/random.h"
#include "types/bits.h"

namespace sti {
namespace {

// Q of BERT-base: twelve heads.
constexpr uint32_t kHeads = 12;
constexpr uint32_t kOuts = 64;
constexpr uint32_t kIns = 768;
constexpr float kSpread = 0.04F;
constexpr float kLargestOutlier = 5 * kSpread;

/// The heads' shards, which have one layer's scales and centroids, and rows to multiply.
struct Map {
  Map(uint32_t bits, double outlier_share, uint32_t rows)
      : bias(kOuts), out(size_t{kHeads} * rows * kOuts) {
    TestRandom random(1);
    const std::vector<float> normals = random.Normals(size_t{rows} * kIns, 1);
    in.assign(normals.begin(), normals.end());
    scales = random.Normals(kIns, 0.1, 1);
    for (uint32_t head = 0; head < kHeads; ++head) {
      shards.push_back(testing::MakeShard(uint64_t{kOuts} * kIns, bits, DataType::kF16,
                                          outlier_share, kSpread, head, kLargestOutlier));
      if (bits == kFullBits) continue;
      shards.back().view.scales = scales.data();
      shards.back().view.centroids = shards.front().centroids.data();
    }
    for (const testing::TestShard& shard : shards) {
      terms.push_back({&shard.view, {kOuts, kIns, 0, 0, false}, in.data(), kIns});
    }
    for (uint32_t head = 0; head < kHeads; ++head) {
      groups.push_back({.terms = {&terms[head], 1},
                        .bias = bias.data(),
                        .outs = kOuts,
                        .out = out.data() + size_t{head} * rows * kOuts,
                        .out_stride = kOuts});
    }
  }

  AlignedVector<float> in;
  std::vector<float> bias;
  std::vector<float> out;
  std::vector<float> scales;
  std::vector<testing::TestShard> shards;
  std::vector<LinearTerm> terms;
  std::vector<LinearSum> groups;
};

// Outliers by the ten thousand: none, and as many as fine-tuned BERTs have.
void LinearMap(benchmark::State& state) {
  const auto type = static_cast<ComputeType>(state.range(0));
  const auto bits = static_cast<uint32_t>(state.range(1));
  const auto rows = static_cast<uint32_t>(state.range(2));
  Map map(bits, static_cast<double>(state.range(3)) / 1e4, rows);
  ThreadPool pool(1);
  auto linear = Linear::Create({Backend::kNative, type}, pool, Activation::kGelu);
  if (!linear.ok()) return state.SkipWithError(linear.error().Message().c_str());
  (*linear)->Reserve({.rows = rows,
                      .matrix_weights = kOuts * kIns,
                      .outs = kOuts,
                      .ins = kIns,
                      .summed_ins = kIns,
                      .terms = kHeads});
  auto seconds = TimeRepeats(
      state, 4, [] {},
      [&] {
        (*linear)->Run(rows, map.groups);
        benchmark::DoNotOptimize(map.out.data());
      });
  ReportFlops(state, 2.0 * rows * kHeads * kOuts * kIns, seconds);
}
BENCHMARK(LinearMap)
    ->ArgNames({"compute", "bits", "l", "outliers"})
    ->ArgsProduct({{0, 1, 2}, {3, 6, kFullBits}, {1, 16, 128}, {0, 57}})
    ->Iterations(50)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sti
