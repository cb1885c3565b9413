#include "types/plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "types/bits.h"
#include "types/limits.h"

namespace sti {

PlanExtent PlanCore::Extent() const {
  return {.tokens = most_tokens(),
          .width = std::max(width, fallback ? fallback->width : 0),
          .sequences = microbatch,
          .ends = ends,
          .context = context,
          .depth = static_cast<uint32_t>(layers.size()),
          .keeps_vocabulary = keeps_vocabulary};
}

PlanExtent Plan::Extent() const {
  PlanExtent extent = PlanCore::Extent();
  const auto add = [&](const PlanExtent& other) {
    extent.tokens = std::max(extent.tokens, other.tokens);
    extent.width = std::max(extent.width, other.width);
    extent.sequences = std::max(extent.sequences, other.sequences);
  };
  for (const PlanCore& variant : variants) add(variant.Extent());
  if (cascade) {
    for (const CascadeLevel& level : cascade->levels) add(level.plan.Extent());
  }
  return extent;
}

void PlanCore::SetStrategy(std::string name) {
  strategy = ParseStrategy(name);
  other_strategy = strategy == Strategy::kOther ? std::move(name) : "";
}

std::optional<double> PlanCascade::MedianPathUs() const {
  constexpr double kHalf = 0.5;
  double returned = 0;
  for (size_t level = 0; level < path_us.size(); ++level) {
    returned += level < return_share.size() ? return_share[level] : 1;
    if (returned >= kHalf) return path_us[level];
  }
  return std::nullopt;
}

Digest SubmodelDigest(const PlanCore& plan) {
  Digester digester;
  digester.AddNumber(plan.layers.size());
  digester.AddNumber(plan.width);
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    digester.AddNumber(plan.layers[k]);
    for (uint32_t i = 0; i < plan.width; ++i) {
      digester.AddNumber(plan.slices.At(k, i));
      digester.AddNumber(plan.bits.At(k, i));
    }
  }
  return digester.Finish();
}

std::optional<size_t> PlanStages::Find(std::string_view device) const {
  const auto found = std::ranges::find(stages, device, &PlanStage::device);
  if (found == stages.end()) return std::nullopt;
  return static_cast<size_t>(found - stages.begin());
}

StageExtent ExtentOfStage(const Plan& plan, size_t number) {
  const std::vector<PlanStage>& stages = plan.staged->stages;
  const PlanStage& stage = stages[number];
  return {plan.layers[stage.begin],
          plan.layers[stage.end - 1] + 1,
          {.text = number == 0, .head = number + 1 == stages.size()}};
}

Plan CutStage(const Plan& plan, size_t number) {
  const PlanStage& stage = plan.staged->stages[number];
  const auto cut = [&](const Grid<uint32_t>& grid) {
    Grid<uint32_t> rows(stage.end - stage.begin, grid.columns());
    for (uint32_t k = stage.begin; k < stage.end; ++k)
      std::ranges::copy(grid.Row(k), rows.Row(k - stage.begin).begin());
    return rows;
  };
  Plan own;
  own.model = plan.model;
  own.shape = plan.shape;
  own.strategy = plan.strategy;
  own.other_strategy = plan.other_strategy;
  own.length = plan.length;
  own.layers.assign(plan.layers.begin() + stage.begin, plan.layers.begin() + stage.end);
  own.width = plan.width;
  own.slices = cut(plan.slices);
  own.bits = cut(plan.bits);
  own.preload = stage.preload;
  own.preload_bytes = stage.preload_bytes;
  own.predicted_latency_us = own.predicted_p99_us = stage.pass_us;
  own.predicted_peak_bytes = stage.predicted_peak_bytes;
  own.kernel = stage.kernel;
  own.read_path = stage.read_path;
  own.staging_bytes = stage.staging_bytes;
  own.read_bytes = stage.read_bytes;
  own.read_depth = stage.read_depth;
  own.read_streams = stage.read_streams;
  own.threads = stage.threads;
  own.cpus = stage.cpus;
  own.ends = ExtentOfStage(plan, number).ends;
  own.microbatch = plan.staged->microbatch;
  return own;
}

WordGroup WordGroupOf(std::optional<uint32_t> read_bytes, uint32_t rows, uint32_t row_bytes) {
  constexpr uint64_t kReads = 2;
  const uint64_t wanted = kReads * read_bytes.value_or(kUsualReadBytes) / std::max(1U, row_bytes);
  WordGroup group;
  group.rows = std::clamp(static_cast<uint32_t>(wanted) + 1, 1U, std::max(1U, rows));
  group.bytes = RoundUp(uint64_t{group.rows} * row_bytes, kBlockBytes);
  if (group.rows < rows) group.bytes += kBlockBytes;  // it may begin and end within a block
  return group;
}

uint64_t StreamedBytes(const PlanCore& plan, uint64_t row_bytes) {
  const uint64_t held = plan.preload_bytes - std::min(plan.preload_bytes, row_bytes);
  return plan.parameter_bytes - std::min(plan.parameter_bytes, held);
}

void RunUniformly(std::span<const uint32_t> layers, uint32_t width, uint32_t bits, PlanCore* plan) {
  const auto depth = static_cast<uint32_t>(layers.size());
  plan->layers.assign(layers.begin(), layers.end());
  plan->width = width;
  plan->slices = Grid<uint32_t>(depth, width);
  for (uint32_t k = 0; k < depth; ++k) {
    const std::span<uint32_t> row = plan->slices.Row(k);
    std::iota(row.begin(), row.end(), 0U);
  }
  plan->bits = Grid<uint32_t>(depth, width, bits);
}

std::vector<ShardAtBits> ShardsBeside(std::span<const ShardAtBits> held,
                                      std::span<const ShardAtBits> shards) {
  // The most bits of each shard, with planes and at full fidelity.
  std::map<std::pair<ShardId, bool>, uint32_t> known;
  const auto raise = [&known](const ShardAtBits& shard) {
    uint32_t& bits = known[{shard.id, shard.bits == kFullBits}];
    return std::exchange(bits, std::max(bits, shard.bits)) < shard.bits;
  };
  for (const ShardAtBits& shard : held) raise(shard);
  std::vector<ShardAtBits> beside;
  for (const ShardAtBits& shard : shards) {
    if (raise(shard)) beside.push_back(shard);
  }
  return beside;
}

std::vector<ShardAtBits> FallbackShards(const Plan& plan) {
  std::vector<ShardAtBits> shards;
  const auto add = [&](const PlanCore& one) {
    if (!one.fallback) return;
    const std::vector<ShardAtBits> own = ShardsOf(*one.fallback);
    shards.insert(shards.end(), own.begin(), own.end());
  };
  add(plan);
  for (const PlanCore& variant : plan.variants) add(variant);
  return ShardsBeside(plan.preload, shards);
}

}  // namespace sti
