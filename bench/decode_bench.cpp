// Decoding on each instruction set that this machine has, outliers left out: what a device with
// less than the best of them may expect, in proportion.
#include <benchmark/benchmark.h>

#include "base/aligned_buffer.h"
#include "kernels/backend.h"
#include "kernels/decode.h"
#include "kernels/shard_encoder.h"
#include "medians.h"

namespace sti {
namespace {

constexpr uint32_t kStretch = 256 * kPanelWidth;  // as much as a layer decodes at a time

// Weights a second, a stretch at a time, rows scaled as those of a matrix by input.
void DecodeOnSet(benchmark::State& state, const std::string& set) {
  const auto bits = static_cast<uint32_t>(state.range(0));
  const uint64_t count = 64 * kStretch;
  const auto shard = testing::MakeShard(count, bits, DataType::kF16, 0, 0.04F, 1);
  const std::vector<float> scales(kStretch / kPanelWidth, 1.5F);
  AlignedBuffer buffer(kStretch * sizeof(float));
  auto* out = reinterpret_cast<float*>(buffer.data());
  LimitInstructionSet(set);
  std::vector<double> seconds;
  for (auto _ : state) {
    const double taken = TimeSeconds([&] {
      for (uint64_t first = 0; first < count; first += kStretch) {
        DecodePlanes({shard.view.planes, bits, shard.view.centroids, Scaling::kRows, scales.data()},
                     first, kStretch, out);
        benchmark::DoNotOptimize(out[0]);
        benchmark::ClobberMemory();
      }
    });
    state.SetIterationTime(taken);
    seconds.push_back(taken);
  }
  LimitInstructionSet("");
  state.counters["Gweights_s"] = static_cast<double>(count) / Median(seconds) / 1e9;
}

const bool kRegistered = [] {
  for (const std::string& set : InstructionSets()) {
    benchmark::RegisterBenchmark(("DecodeOnSet/" + set).c_str(), DecodeOnSet, set)
        ->ArgName("bits")
        ->DenseRange(2, 6)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace sti
