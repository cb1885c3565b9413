// Functions that the benchmarks of single functions share: how they are timed, what they tell, and
// how they are repeated for narrower instruction sets.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "fma_peak.h"
#include "kernels/backend.h"
#include "medians.h"

namespace sti {

/// Seconds of one call of `body`, timed `repeats` at a time, for each iteration of `state`;
/// `prepare` runs before each, by nobody's clock.
template <typename Prepare, typename Body>
std::vector<double> TimeRepeats(benchmark::State& state, int repeats, Prepare prepare, Body body) {
  std::vector<double> seconds;
  for (auto _ : state) {
    prepare();
    const double taken = TimeSeconds([&] {
      for (int i = 0; i < repeats; ++i) body();
    });
    state.SetIterationTime(taken / repeats);
    seconds.push_back(taken / repeats);
  }
  return seconds;
}

/// GB_s of a function that reads and writes `bytes` in all.
inline void ReportBytes(benchmark::State& state, double bytes, std::vector<double>& seconds) {
  state.counters["GB_s"] = bytes / Median(seconds) / 1e9;
}

/// GFLOP_s, and their share of the peak of the core, which is that of the widest vectors whatever
/// the instruction set, and is measured right after.
inline void ReportFlops(benchmark::State& state, double flops, std::vector<double>& seconds) {
  std::vector<double> peaks;
  for (int i = 0; i < 21; ++i) peaks.push_back(FmaPeakGflops(20000));
  const double gflops = flops / Median(seconds) / 1e9;
  const double peak = Median(peaks);
  state.counters["GFLOP_s"] = gflops;
  state.counters["peak_GFLOP_s"] = peak;
  state.counters["share"] = gflops / peak;
}

/// Registers `function` once more for each instruction set but the best one, as NAME@avx2 and so
/// on; `configure` gives it its arguments. Returns a number, so that a constant can call it.
template <typename Configure>
int RegisterNarrower(const char* name, void (*function)(benchmark::State&), Configure configure) {
  const std::vector<std::string> sets = InstructionSets();
  for (size_t i = 1; i < sets.size(); ++i) {
    const std::string full = std::string(name) + "@" + sets[i];
    configure(benchmark::RegisterBenchmark(full.c_str(),
                                           [function, set = sets[i]](benchmark::State& state) {
                                             LimitInstructionSet(set);
                                             function(state);
                                             LimitInstructionSet("");
                                           }));
  }
  return static_cast<int>(sets.size());
}

}  // namespace sti

/// A benchmark for the best instruction set here, and one for each narrower one, configured alike:
/// STI_BENCH_SETS(Function, ->Arg(1)->Arg(2))
#define STI_BENCH_SETS(function, configuration) \
  BENCHMARK(function) configuration;            \
  static const int k##function##Sets =          \
      RegisterNarrower(#function, function,     \
                       [](benchmark::internal::Benchmark* narrower) { narrower configuration; })
