#include "api/shard_memory.h"

#include <algorithm>
#include <string>

#include "base/remedy.h"
#include "model/held_rows.h"
#include "model/memory.h"
#include "pipeline/pass.h"
#include "pipeline/routes.h"
#include "types/bits.h"
#include "types/shard_id.h"

namespace sti {
namespace {

using Shards = std::vector<ShardAtBits>;

// Bytes that are read of a shard, given what is held; of one that the container does not have,
// which the pipeline refuses, none. Planes and full fidelity share nothing.
uint64_t MissingBytes(const ShardCatalog& catalog, const ShardAtBits& shard, const Shards& held) {
  const uint64_t whole = catalog.BytesOf(shard).value_or(0);
  uint64_t missing = whole;
  for (const ShardAtBits& other : held) {
    const bool shares = (other.bits == kFullBits) == (shard.bits == kFullBits);
    if (other.id != shard.id || !shares) continue;
    if (other.bits >= shard.bits) return 0;
    const uint64_t there = catalog.BytesOf(other).value_or(0);
    missing = std::min(missing, whole - std::min(whole, there) + catalog.block_bytes);
  }
  return missing;
}

// Counts a run of one plan at these bits, given what is held, into the most that a layer and a run
// stream.
void AddStreamed(const ShardCatalog& catalog, const PlanCore& plan, const Grid<uint32_t>& bits,
                 const Shards& held, MemoryNeed* need) {
  uint64_t streamed = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan.width; ++i)
      bytes += MissingBytes(catalog, {plan.Id(k, i), bits.At(k, i)}, held);
    need->layer = std::max(need->layer, bytes);
    streamed += bytes;
  }
  need->streamed = std::max(need->streamed, streamed);
}

// Counts the levels of a cascade, and returns the most bytes that stay between two of them.
uint64_t AddCascade(const ShardCatalog& catalog, const Plan& plan, MemoryNeed* need) {
  const Shards& between_inputs = plan.cascade->levels.front().plan.preload;
  const uint64_t always = catalog.BytesOfAll(between_inputs);
  uint64_t most = always;
  Shards held = between_inputs;
  for (size_t level = 0; level < CascadeLevelsOf(plan); ++level) {
    const PlanCore& own = PlanOf(plan, CascadeRoute(plan, level));
    AddStreamed(catalog, own, own.bits, held, need);
    uint64_t bytes = always;
    held = between_inputs;
    for (const ShardAtBits& shard : HandedOn(plan, level)) {
      bytes += MissingBytes(catalog, shard, between_inputs);
      held.push_back(shard);
    }
    most = std::max(most, bytes);
  }
  return most;
}

// Counts the variants. What the turns of the plan keep may be less of one than the plan preloads.
void AddVariants(const ShardCatalog& catalog, const Plan& plan, MemoryNeed* need) {
  for (const PlanCore& variant : plan.variants) {
    AddStreamed(catalog, variant, variant.bits, variant.preload, need);
    for (const PlanTurn& turn : plan.turns)
      AddStreamed(catalog, variant, variant.bits, turn.preload, need);
  }
}

// Counts the turns of a plan, and returns the most bytes of shards that stay before one of them.
uint64_t AddTurns(const ShardCatalog& catalog, const Plan& plan, MemoryNeed* need) {
  uint64_t most = 0;
  for (const PlanTurn& turn : plan.turns) {
    AddStreamed(catalog, plan, turn.bits, turn.preload, need);
    most = std::max(most, catalog.BytesOfAll(turn.preload));
  }
  return most;
}

// Counts all that runs under the plan stream, and returns the bytes that stay in memory meanwhile.
uint64_t AddShards(const ContainerIndex& index, const Plan& plan, MemoryNeed* need) {
  const ShardCatalog catalog = CatalogOf(index);
  const uint64_t rows = plan.words.size() * index.words.row_bytes;
  if (plan.cascade) return AddCascade(catalog, plan, need) + rows;
  AddStreamed(catalog, plan, plan.bits, plan.preload, need);
  AddVariants(catalog, plan, need);
  const uint64_t in_turns = AddTurns(catalog, plan, need) + rows;
  return std::max(plan.preload_bytes, in_turns) + catalog.BytesOfAll(FallbackShards(plan));
}

// Counts the words of a head, which come in groups as small layers do: those that stay once.
void AddWords(const ContainerIndex& index, const Plan& plan, MemoryNeed* need) {
  if (!index.info.continues_texts() || !plan.ends.head) return;
  const RowTable& words = index.words;
  need->layer =
      std::max(need->layer, WordGroupOf(plan.read_bytes, words.rows, words.row_bytes).bytes);
  if (!plan.keeps_vocabulary) need->streamed += index.words.bytes();
}

// Bytes by which a share may still grow before it holds all that its model streams.
uint64_t RoomLeft(const MemoryNeed& need, uint64_t share) {
  if (need.layer == 0) return 0;
  const uint64_t most = need.before_shards + std::max(need.layer, need.streamed);
  return most - std::min(most, share);
}

}  // namespace

MemoryNeed NeedOf(const ContainerIndex& index, const Plan& plan, const OwnMemory& memory) {
  const PlanExtent extent = plan.Extent();
  const WorkingTerms terms{
      .kernel = KernelFor(memory.arithmetic), .threads = memory.threads, .extent = extent};
  MemoryNeed need;
  const StageExtent held{plan.layers.front(), plan.layers.back() + 1, plan.ends};
  const uint64_t resident = plan.ends.whole() ? ResidentBytes(index) : ResidentBytes(index, held);
  need.before_shards = memory.tokenizer_bytes + resident + WorkingBytes(index, terms) +
                       AddShards(index, plan, &need);
  need.before_shards += GatheredImageBytes(index, extent.sequences);
  AddWords(index, plan, &need);
  if (plan.fallback) need.before_shards += FallbackRowBytes(index, extent.tokens);
  return need;
}

Result<uint64_t> StagingBytes(const ContainerIndex& index, const Plan& plan,
                              const OwnMemory& memory) {
  const MemoryNeed need = NeedOf(index, plan, memory);
  const uint64_t used = need.before_shards;
  const uint64_t left = memory.bytes - std::min(memory.bytes, used);
  // Planned for this much: the plan's estimate and this one differ by what code happens to be
  // loaded. Not by more, unless what the plan predicts is not so. The plan's counts the code that
  // is loaded later too, so no more goes to shards than it gives them.
  if (memory.planned_for > used) {
    const uint64_t beyond_plan =
        memory.planned_for - std::min(memory.planned_for, plan.predicted_peak_bytes);
    const uint64_t spare = std::min(left, beyond_plan);
    return std::max(spare + std::min(left - spare, plan.staging_bytes.value_or(0)), need.layer);
  }
  if (left > 0) return left;
  const uint64_t least = used + std::max<uint64_t>(need.layer, 1);
  return InfeasibleError(std::to_string(memory.bytes) + " bytes of memory are less than the " +
                         std::to_string(least) + " that the model takes with its first shards")
      .NeedingMemory(least);
}

Result<std::vector<uint64_t>> DivideMemory(std::span<const MemoryNeed> needs, uint64_t bytes) {
  std::vector<uint64_t> shares;
  uint64_t least = 0;
  for (const MemoryNeed& need : needs) {
    shares.push_back(need.before_shards + need.layer);
    least += shares.back();
  }
  if (least > bytes) {
    return InfeasibleError(std::to_string(bytes) + " bytes of memory are less than the " +
                           std::to_string(least) + " that these models take together")
        .NeedingMemory(least);
  }
  // Each round gives every model that can hold more its part of what is left. What the full ones do
  // not take is left for the next round, so that each round fills a model or is the last.
  uint64_t left = bytes - least;
  for (bool filled = true; filled;) {
    filled = false;
    uint64_t layers = 0;
    for (size_t i = 0; i < needs.size(); ++i) {
      if (RoomLeft(needs[i], shares[i]) > 0) layers += needs[i].layer;
    }
    const uint64_t to_give = left;
    for (size_t i = 0; i < needs.size(); ++i) {
      const uint64_t room = RoomLeft(needs[i], shares[i]);
      if (room == 0) continue;
      const auto part =
          static_cast<uint64_t>(static_cast<double>(to_give) * static_cast<double>(needs[i].layer) /
                                static_cast<double>(layers));
      const uint64_t given = std::min({part, room, left});
      shares[i] += given;
      left -= given;
      filled = filled || given == room;
    }
  }
  return shares;
}

}  // namespace sti
