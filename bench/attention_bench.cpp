// Attention of one head of 64, one sequence, one thread. FLOPs are those of scores and context;
// softmax, and in bf16 the rounding of keys and values, are in the time and not among them.
#include <vector>

#include "base/aligned_buffer.h"
#include "model/attention.h"
#include "reports.h"
#include "support/random.h"

namespace sti {
namespace {

constexpr uint32_t kHeadDim = 64;
constexpr uint32_t kPastEnd = 16;

void Measure(benchmark::State& state, bool packed) {
  const auto length = static_cast<uint32_t>(state.range(0));
  const size_t size = size_t{length} * kHeadDim;
  TestRandom random(1);
  const std::vector<float> queries = random.Normals(size, 1);
  const std::vector<float> keys = random.Normals(size + kPastEnd, 1);
  const std::vector<float> values = random.Normals(size + kPastEnd, 1);
  AlignedVector<float> scratch(packed ? PackedAttentionScratch(length, kHeadDim)
                                      : AttentionScratch(length));
  std::vector<float> context;
  const uint32_t offsets[2] = {0, length};
  ThreadPool pool(1);
  AttentionInput input{.queries = nullptr,
                       .query_stride = kHeadDim,
                       .keys = keys.data(),
                       .key_stride = packed ? kHeadDim : length,
                       .values = values.data(),
                       .value_stride = kHeadDim,
                       .heads = 1,
                       .head_dim = kHeadDim,
                       .offsets = offsets,
                       .packed = packed};
  std::vector<double> seconds = TimeRepeats(
      state, 1,
      [&] {
        context = queries;
        input.queries = context.data();
      },
      [&] {
        Attend(input, pool, scratch.data(), scratch.size());
        benchmark::DoNotOptimize(context[0]);
      });
  ReportFlops(state, 4.0 * length * length * kHeadDim, seconds);
}

void Attention(benchmark::State& state) { Measure(state, false); }
STI_BENCH_SETS(Attention, ->ArgName("l")
                              ->Arg(16)
                              ->Arg(64)
                              ->Arg(128)
                              ->Arg(512)
                              ->Iterations(200)
                              ->UseManualTime());

void AttentionBf16(benchmark::State& state) { Measure(state, true); }
BENCHMARK(AttentionBf16)
    ->ArgName("l")
    ->Arg(16)
    ->Arg(64)
    ->Arg(128)
    ->Arg(512)
    ->Iterations(200)
    ->UseManualTime();

}  // namespace
}  // namespace sti
