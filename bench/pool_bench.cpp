// Benchmark of what a parallel loop costs before anything is done in it. A layer has seven loops.
#include <chrono>
#include <thread>

#include "base/thread_pool.h"
#include "reports.h"

namespace sti {
namespace {

// `tasks` empty bodies, after a pause of the caller: with none, workers are still awake from the
// loop before; 2 ms later they sleep.
void ParallelFor(benchmark::State& state) {
  const auto threads = static_cast<uint32_t>(state.range(0));
  const auto tasks = static_cast<uint32_t>(state.range(1));
  const std::chrono::microseconds pause(state.range(2));
  ThreadPool pool(threads);
  const int repeats = pause.count() == 0 ? 100 : 1;
  std::vector<double> seconds = TimeRepeats(
      state, repeats,
      [&] {
        if (pause.count() != 0) std::this_thread::sleep_for(pause);
      },
      [&] {
        pool.ParallelFor(tasks, [](uint32_t index, uint32_t) { benchmark::DoNotOptimize(index); });
      });
  state.counters["loop_ns"] = Median(seconds) * 1e9;
}
BENCHMARK(ParallelFor)
    ->ArgNames({"threads", "tasks", "pause_us"})
    ->ArgsProduct({{1, 2}, {2, 64}, {0, 2000}})
    ->Iterations(300)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sti
