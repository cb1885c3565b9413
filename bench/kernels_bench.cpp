// Decoding and the panel product, each alone and in cache.
#include <benchmark/benchmark.h>

#include "base/aligned_buffer.h"
#include "fma_peak.h"
#include "kernels/backend.h"
#include "kernels/decode.h"
#include "kernels/gemm.h"
#include "kernels/shard_encoder.h"
#include "medians.h"
#include "reports.h"
#include "support/random.h"
#include "types/bits.h"

namespace sti {
namespace {

constexpr double kOutlierShare = 0.0015;
constexpr uint32_t kStretch = 256 * kPanelWidth;  // as much as a layer decodes at a time

// GB/s of floats written, a stretch at a time, from a shard of BERT-base's size.
void DecodeStretches(benchmark::State& state) {
  const auto bits = static_cast<uint32_t>(state.range(0));
  const uint64_t count = 589824;
  const auto shard = testing::MakeShard(count, bits, DataType::kF16, kOutlierShare, 0.04F, 1);
  AlignedBuffer buffer(kStretch * sizeof(float));
  auto* out = reinterpret_cast<float*>(buffer.data());
  std::vector<double> seconds;
  for (auto _ : state) {
    const double taken = TimeSeconds([&] {
      for (uint64_t first = 0; first < count; first += kStretch) {
        DecodeWeights(shard.view, first, kStretch, out);
        benchmark::DoNotOptimize(out[0]);
        benchmark::ClobberMemory();
      }
    });
    state.SetIterationTime(taken);
    seconds.push_back(taken);
  }
  const double median = Median(seconds);
  state.counters["GB_s"] = static_cast<double>(count * sizeof(float)) / median / 1e9;
  state.counters["Gweights_s"] = static_cast<double>(count) / median / 1e9;
}
STI_BENCH_SETS(
    DecodeStretches, ->ArgName("bits")->DenseRange(2, 6)->Arg(kFullBits)->UseManualTime()->Unit(
                         benchmark::kMicrosecond));

// Rows times a decoded stretch of two panels, beside the peak of the core, in turns.
void MultiplyTwoPanels(benchmark::State& state) {
  const auto rows = static_cast<uint32_t>(state.range(0));
  const uint32_t ins = 256;
  const uint32_t width = 2 * kPanelWidth;
  TestRandom random(1);
  const std::vector<float> a = random.Normals(size_t{rows} * ins, 1);
  const std::vector<float> b = random.Normals(size_t{ins} * width, 1);
  std::vector<float> c(size_t{rows} * width);
  const PanelProduct product{
      .a = a.data(),
      .a_stride = ins,
      .rows = rows,
      .ins = ins,
      .panels = {{b.data(), kPanelWidth}, {b.data() + size_t{ins} * kPanelWidth, kPanelWidth}},
      .c = c.data(),
      .c_stride = width,
      .width = width,
      .start = kFromZero};
  constexpr int kRepeats = 20;
  std::vector<double> gflops;
  std::vector<double> peaks;
  for (auto _ : state) {
    const double taken = TimeSeconds([&] {
      for (int i = 0; i < kRepeats; ++i) MultiplyPanels(product);
    });
    state.SetIterationTime(taken / kRepeats);
    gflops.push_back(2.0 * rows * ins * width * kRepeats / taken / 1e9);
    peaks.push_back(FmaPeakGflops(20000));
  }
  const double median = Median(gflops);
  const double peak = Median(peaks);
  state.counters["GFLOP_s"] = median;
  state.counters["peak_GFLOP_s"] = peak;
  state.counters["share"] = median / peak;
  state.SetLabel(KernelFor({Backend::kNative}).name);
}
STI_BENCH_SETS(MultiplyTwoPanels, ->ArgName("rows")
                                      ->Arg(1)
                                      ->Arg(4)
                                      ->Arg(8)
                                      ->Arg(16)
                                      ->Arg(64)
                                      ->Arg(128)
                                      ->Iterations(300)
                                      ->UseManualTime()
                                      ->Unit(benchmark::kMicrosecond));

}  // namespace
}  // namespace sti
