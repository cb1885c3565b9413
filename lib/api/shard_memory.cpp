#include "api/shard_memory.h"

#include <algorithm>
#include <string>

#include "model/memory.h"
#include "types/shard_catalog.h"

namespace sti {
namespace {

bool IsPreloaded(const Plan& plan, uint32_t layer, uint32_t slice) {
  return std::any_of(plan.preload.begin(), plan.preload.end(), [&](const PreloadedShard& shard) {
    return shard.layer == layer && shard.slice == slice;
  });
}

// Most bytes that one layer of the plan or a variant streams; shards that the container does not
// have, which the pipeline refuses, count nothing.
uint64_t LargestLayerBytes(const ShardCatalog& catalog, const Plan& plan) {
  uint64_t largest = 0;
  for (size_t k = 0; k < plan.layers.size(); ++k) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < plan.slices[k].size(); ++i) {
      const uint32_t layer = plan.layers[k];
      const uint32_t slice = plan.slices[k][i];
      const auto level = std::find(catalog.bits.begin(), catalog.bits.end(), plan.bits[k][i]);
      const bool held =
          layer < catalog.layers && slice < catalog.width && level != catalog.bits.end();
      if (!held || IsPreloaded(plan, layer, slice)) continue;
      const size_t shard = size_t{layer} * catalog.width + slice;
      bytes += catalog.read_bytes[shard * catalog.bits.size() +
                                  static_cast<size_t>(level - catalog.bits.begin())];
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
  WorkingTerms terms{.kernel = KernelName(memory.arithmetic),
                     .type = memory.arithmetic.type,
                     .threads = memory.threads,
                     .tokens = plan.length,
                     .width = plan.width};
  for (const Plan& variant : plan.variants) {
    terms.tokens = std::max(terms.tokens, variant.length);
    terms.width = std::max(terms.width, variant.width);
  }
  const uint64_t used = memory.tokenizer_bytes + ResidentBytes(index) + WorkingBytes(index, terms) +
                        plan.preload_bytes;
  const uint64_t left = memory.bytes - std::min(memory.bytes, used);
  // Planned for this much: the plan's estimate and this one differ by what code happens to be
  // loaded.
  if (memory.planned_for) return std::max(left, LargestLayerBytes(CatalogOf(index), plan));
  if (left > 0) return left;
  return InfeasibleError(std::to_string(memory.bytes) + " bytes of memory are less than the " +
                         std::to_string(used) + " that the model takes before its first shard");
}

}  // namespace sti
