// Benchmarks of what a person waits for beside inference: planning, tokenising, quantising, a
// cascade's verdicts.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "medians.h"
#include "pipeline/cascade_run.h"
#include "plan/planner.h"
#include "quant/quantize.h"
#include "support/random.h"
#include "text/tokenizer.h"
#include "types/cascade.h"

namespace sti {
namespace {

struct PlannerWorld {
  ModelInfo info;
  ShardCatalog catalog;
  DeviceProfile profile;
  Importance importance;
};

// BERT-large on a device where IO and compute are about as fast as each other.
PlannerWorld LargeWorld() {
  constexpr uint32_t kDepth = 24;
  constexpr uint32_t kWidth = 16;
  PlannerWorld world;
  world.info.shape = {kDepth, kWidth, 1024, 4096, 30522, 512, 2, 2};
  world.info.elastic = true;
  for (uint32_t depth = 1; depth <= kDepth; ++depth) {
    auto& row = world.info.depth_layers.emplace_back();
    for (uint32_t i = 1; i <= depth; ++i) row.push_back(i * kDepth / depth - 1);
  }
  world.catalog.layers = kDepth;
  world.catalog.width = kWidth;
  world.catalog.bits = {2, 3, 4, 5, 6, 32};
  TestRandom random(1);
  for (uint32_t shard = 0; shard < kDepth * kWidth; ++shard) {
    for (uint32_t bits : {2U, 3U, 4U, 5U, 6U, 16U}) {
      world.catalog.read_bytes.push_back(98304 * uint64_t{bits} + 4096 * (1 + random.Below(3)));
    }
    world.importance.scores.push_back(random.Uniform());
  }
  for (uint32_t bits : {2U, 3U, 4U, 5U, 6U, 16U}) {
    const double load_us = 100 + 98304.0 * bits / 84;  // 84 bytes a microsecond: 80 MiB/s
    world.profile.io.push_back({98304 * uint64_t{bits} + 8192, 0, load_us, load_us * 1.05});
  }
  for (uint32_t width = 1; width <= kWidth; ++width) {
    const double layer_us = 500 + 1100.0 * width;
    world.profile.compute.push_back({128, width, layer_us, layer_us * 1.1, 0});
  }
  world.profile.fixed.push_back({128, 300, 2000, 100});
  world.importance.metric = Metric::kAccuracy;
  world.importance.layers = kDepth;
  world.importance.width = kWidth;
  return world;
}

/// A(n, m) that falls off as measured models do.
void AddSubmodels(PlannerWorld& world) {
  for (uint32_t n = 1; n <= world.catalog.layers; ++n) {
    for (uint32_t m = 1; m <= world.catalog.width; ++m) {
      const double loss = 0.25 + 0.3 / n + 0.05 / m;
      world.importance.submodels.push_back({n, m, 2, 0.85, loss * 1.2});
      world.importance.submodels.push_back({n, m, 32, 0.9, loss});
    }
  }
}

void Plan24x16(benchmark::State& state) {
  PlannerWorld world = LargeWorld();
  if (state.range(2) != 0) AddSubmodels(world);
  // As BERT's shards take with SSE4.
  if (state.range(3) != 0)
    world.profile.decode = {{2, -230}, {3, -210}, {4, -190}, {5, -120}, {32, 230}};
  PlanRequest request;
  request.target_us = static_cast<double>(state.range(0)) * 1e3;
  request.preload_bytes = static_cast<uint64_t>(state.range(1)) << 20;
  const PlanInput input{world.info, world.catalog,          world.profile, &world.importance, {},
                        {},         {0, uint64_t{20} << 20}};
  for (auto _ : state) {
    auto plan = MakePlan(input, request);
    if (!plan.ok()) {
      state.SkipWithError(plan.error().Message().c_str());
      return;
    }
    benchmark::DoNotOptimize(plan->aib_us.data());
    state.SetLabel(std::to_string(plan->layers.size()) + "x" + std::to_string(plan->width));
  }
}
BENCHMARK(Plan24x16)
    ->ArgNames({"target_ms", "preload_MiB", "measured", "bits_take_time"})
    ->ArgsProduct({{200, 400, 800}, {0, 5}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMillisecond);

std::string RandomWord(TestRandom& random) {
  std::string word;
  const uint64_t length = 2 + random.Below(6);
  for (uint64_t i = 0; i < length; ++i) word += static_cast<char>('a' + random.Below(26));
  return word;
}

// 30,522 random tokens, and text of words glued from them.
void Tokenize(benchmark::State& state) {
  TestRandom random(1);
  std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n";
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    vocabulary += std::string(1, letter) + "\n##" + letter + "\n";
  }
  std::vector<std::string> words;
  for (uint32_t i = 0; i < 30466; ++i) {
    words.push_back(RandomWord(random));
    vocabulary += (i % 4 == 0 ? "##" : "") + words.back() + "\n";
  }
  auto made = Vocabulary::FromText(vocabulary);
  if (!made.ok()) {
    state.SkipWithError(made.error().Message().c_str());
    return;
  }
  TokenizerInfo info;
  info.unknown_id = 1;
  info.cls_id = 2;
  info.sep_id = 3;
  const Tokenizer tokenizer(std::move(*made), info);
  std::string text;
  while (text.size() < 64 * 1024) {
    for (uint64_t pieces = 1 + random.Below(3); pieces > 0; --pieces) {
      text += words[random.Below(words.size())];
    }
    text += random.Below(12) == 0 ? ", " : " ";
  }
  std::vector<double> seconds;
  for (auto _ : state) {
    seconds.push_back(TimeSeconds([&] {
      const Encoding encoding = tokenizer.Encode(text, std::nullopt, 1U << 20);
      benchmark::DoNotOptimize(encoding.ids.data());
    }));
    state.SetIterationTime(seconds.back());
  }
  state.counters["MB_s"] = static_cast<double>(text.size()) / Median(seconds) / 1e6;
}
BENCHMARK(Tokenize)->UseManualTime()->Unit(benchmark::kMicrosecond);

void QuantizeBertBaseLayer(benchmark::State& state) {
  TestRandom random(1);
  std::vector<float> weights = random.Normals(12 * 768 * 768, 0.04);
  for (size_t i = 0; i < weights.size(); i += 40) weights[i] *= 2.2F;  // as make-model has them
  const auto kind = static_cast<CodebookKind>(state.range(0));
  for (auto _ : state) {
    const QuantizedLayer layer = QuantizeLayer(weights, kind);
    benchmark::DoNotOptimize(layer.codes.data());
  }
  state.SetLabel(kind == CodebookKind::kGobo ? "gobo" : "tree");
  state.counters["Mweights_s"] = benchmark::Counter(
      static_cast<double>(weights.size()) * static_cast<double>(state.iterations()) / 1e6,
      benchmark::Counter::kIsRate);
}
BENCHMARK(QuantizeBertBaseLayer)
    ->ArgName("codebook")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// The verdict of a cascade level on an input of 128 tokens and 150 labels, and what the next level
// gets of it.
void Dispatch(benchmark::State& state) {
  constexpr size_t kLabels = 150;
  constexpr uint32_t kTokens = 128;
  TestRandom random(1);
  Plan plan;
  plan.cascade.emplace().levels.emplace_back().rule = {
      .cutoff = 0.999, .slope = 10.0, .prune_alpha = 0.7, .ensemble_weight = 0.6};
  const std::vector<float> logits = random.Normals(kLabels, 1);
  std::vector<float> attention;
  std::vector<uint32_t> ids;
  std::vector<uint32_t> words;
  const std::vector<uint32_t> types(kTokens, 0);
  for (uint32_t i = 0; i < kTokens; ++i) {
    ids.push_back(static_cast<uint32_t>(random.Below(30522)));
    words.push_back(i == 0 || i + 1 == kTokens ? kNoWord : i / 2);
    attention.push_back(static_cast<float>(random.Uniform()));
  }
  for (auto _ : state) {
    CascadePolicy policy(plan, {{ids, types}, words}, 0);
    benchmark::DoNotOptimize(policy.GoesOn(policy.ConfidenceIn(logits), false));
    policy.GoOn(logits, attention);
    benchmark::DoNotOptimize(policy.Together(logits));
  }
}
BENCHMARK(Dispatch)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sti
