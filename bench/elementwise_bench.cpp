// Benchmarks of what a layer does beside products, row by row, in cache. GB/s counts every number
// read or written once; a layer of BERT-base at 128 tokens has 12 x 128 softmax rows, 128 x 3072
// activations and 2 x 128 normed rows.
#include <algorithm>
#include <vector>

#include "kernels/elementwise.h"
#include "reports.h"
#include "support/random.h"

namespace sti {
namespace {

constexpr int kRepeats = 50;
constexpr int kBatches = 400;  // not by time: of that only one in kRepeats is reported

// One row of attention scores. Copied anew before each batch: softmax of softmax is flat.
void Softmax(benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(0));
  const std::vector<float> scores = TestRandom(1).Normals(size_t{count} * kRepeats, 4);
  std::vector<float> rows;
  float* row = nullptr;
  std::vector<double> seconds = TimeRepeats(
      state, kRepeats,
      [&] {
        rows = scores;
        row = rows.data();
      },
      [&] {
        SoftmaxRow(row, count, 0.125F);
        benchmark::DoNotOptimize(row[0]);
        row += count;
      });
  ReportBytes(state, 2.0 * sizeof(float) * count, seconds);
}
STI_BENCH_SETS(Softmax, ->ArgName("l")
                            ->Arg(16)
                            ->Arg(64)
                            ->Arg(128)
                            ->Arg(512)
                            ->Iterations(kBatches)
                            ->UseManualTime());

// One tile of the feed-forward network as products leave it: 128 rows, 32 columns of 1536.
// Arguments as in Activation.
void Activation(benchmark::State& state) {
  constexpr uint32_t kRows = 128;
  constexpr uint32_t kWidth = 32;
  constexpr uint32_t kStride = 1536;
  const auto kind = static_cast<sti::Activation>(state.range(0));
  const std::vector<float> sums = TestRandom(1).Normals(size_t{kRows} * kWidth, 2);
  std::vector<float> out(size_t{kRows} * kStride);
  const auto fill_tile = [&] {
    for (uint32_t r = 0; r < kRows; ++r) {
      std::copy_n(&sums[size_t{r} * kWidth], kWidth, &out[size_t{r} * kStride]);
    }
  };
  std::vector<double> seconds = TimeRepeats(state, 1, fill_tile, [&] {
    Activate(kind, out.data(), kStride, kRows, kWidth);
    benchmark::DoNotOptimize(out[0]);
  });
  static const char* const kNames[] = {"gelu", "gelu by tanh", "relu"};
  state.SetLabel(kNames[state.range(0)]);
  ReportBytes(state, 2.0 * sizeof(float) * kRows * kWidth, seconds);
}
STI_BENCH_SETS(
    Activation, ->ArgName("kind")->DenseRange(0, 2)->Iterations(kBatches)->UseManualTime());

// A row with its residual: two are read, one is written; weight and bias stay in cache.
void LayerNorm(benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(0));
  TestRandom random(1);
  const std::vector<float> x = random.Normals(count, 1);
  const std::vector<float> residual = random.Normals(count, 1);
  const std::vector<float> weight = random.Normals(count, 1);
  const std::vector<float> bias = random.Normals(count, 1);
  std::vector<float> out(count);
  std::vector<double> seconds = TimeRepeats(
      state, kRepeats, [] {},
      [&] {
        LayerNormRow(x.data(), residual.data(), weight.data(), bias.data(), count, 1e-12F,
                     out.data());
        benchmark::DoNotOptimize(out[0]);
        benchmark::ClobberMemory();
      });
  ReportBytes(state, 3.0 * sizeof(float) * count, seconds);
}
STI_BENCH_SETS(
    LayerNorm, ->ArgName("hidden")->Arg(384)->Arg(768)->Iterations(kBatches)->UseManualTime());

// The pooler's tanh, once an input.
void Tanh(benchmark::State& state) {
  const auto count = static_cast<uint32_t>(state.range(0));
  const std::vector<float> sums = TestRandom(1).Normals(count, 1);
  std::vector<float> x(sums);
  std::vector<double> seconds = TimeRepeats(
      state, 1, [&] { x = sums; },
      [&] {
        TanhRow(x.data(), count);
        benchmark::DoNotOptimize(x[0]);
      });
  ReportBytes(state, 2.0 * sizeof(float) * count, seconds);
}
STI_BENCH_SETS(Tanh, ->ArgName("hidden")->Arg(768)->Iterations(kBatches)->UseManualTime());

}  // namespace
}  // namespace sti
