#include "api/shard_memory.h"

#include <algorithm>
#include <string>

#include "base/remedy.h"
#include "model/held_rows.h"
#include "model/memory.h"
#include "types/shard_catalog.h"

namespace sti {
namespace {

bool IsPreloaded(const Plan& plan, ShardId id) {
  return std::any_of(plan.preload.begin(), plan.preload.end(),
                     [&](const ShardAtBits& shard) { return shard.id == id; });
}

// Most bytes that one layer of the plan or a variant streams; shards that the container does not
// have, which the pipeline refuses, count nothing.
uint64_t LargestLayerBytes(const ShardCatalog& catalog, const Plan& plan) {
  uint64_t largest = 0;
  for (uint32_t k = 0; k < plan.layers.size(); ++k) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < plan.width; ++i) {
      const ShardId id = plan.Id(k, i);
      if (!IsPreloaded(plan, id)) bytes += catalog.BytesOf({id, plan.bits.At(k, i)}).value_or(0);
    }
    largest = std::max(largest, bytes);
  }
  for (const Plan& variant : plan.variants)
    largest = std::max(largest, LargestLayerBytes(catalog, variant));
  return largest;
}

}  // namespace

Result<uint64_t> StagingBytes(const ContainerIndex& index, const Plan& plan,
                              const OwnMemory& memory) {
  const PlanExtent extent = plan.Extent();
  const WorkingTerms terms{.kernel = KernelFor(memory.arithmetic),
                           .threads = memory.threads,
                           .tokens = extent.tokens,
                           .width = extent.width};
  uint64_t used = memory.tokenizer_bytes + ResidentBytes(index) + WorkingBytes(index, terms) +
                  plan.preload_bytes;
  const ShardCatalog catalog = CatalogOf(index);
  for (const ShardAtBits& shard : FallbackShards(plan)) used += catalog.BytesOf(shard).value_or(0);
  if (plan.fallback) {
    const size_t words = WordsOfNoText(index.info.tokenizer).size();
    used += HeldRows::RoomFor(index, words, extent.tokens);
  }
  const uint64_t left = memory.bytes - std::min(memory.bytes, used);
  // Planned for this much: the plan's estimate and this one differ by what code happens to be
  // loaded. Not by more, unless what the plan predicts is not so. The plan's counts the code that
  // is loaded later too, so no more goes to shards than it gives them.
  if (memory.planned_for > used) {
    const uint64_t beyond_plan =
        memory.planned_for - std::min(memory.planned_for, plan.predicted_peak_bytes);
    const uint64_t spare = std::min(left, beyond_plan);
    return std::max(spare + std::min(left - spare, plan.staging_bytes),
                    LargestLayerBytes(catalog, plan));
  }
  if (left > 0) return left;
  return InfeasibleError(std::to_string(memory.bytes) + " bytes of memory are less than the " +
                         std::to_string(used) + " that the model takes before its first shard")
      .Fix(Remedy::kMoreMemory, std::to_string(used));
}

}  // namespace sti
