#include "staging.h"

#include <algorithm>

#include "base/process_memory.h"
#include "common/files.h"
#include "common/parse.h"
#include "model/memory.h"
#include "types/shard_catalog.h"

namespace sti {
namespace {

// Code, stacks and heap that only a run touches: 0.4 to 0.6 MB on x86-64 Linux.
constexpr uint64_t kLaterBytes = 600'000;

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

Result<uint64_t> StagingBytes(uint64_t memory_bytes, const ContainerIndex& index, uint32_t threads,
                              const Arithmetic& arithmetic, const Plan& plan) {
  uint32_t length = plan.length;
  uint32_t width = plan.width;
  for (const Plan& variant : plan.variants) {
    length = std::max(length, variant.length);
    width = std::max(width, variant.width);
  }
  const WorkingTerms terms{.kernel = KernelName(arithmetic),
                           .type = arithmetic.type,
                           .threads = threads,
                           .tokens = length,
                           .width = width};
  const uint64_t used = CurrentRssBytes() + kLaterBytes + ResidentBytes(index) +
                        WorkingBytes(index, terms) + plan.preload_bytes;
  // Planned for this much: its estimate and this one may differ by what code happens to be loaded.
  const bool planned = plan.predicted_peak_bytes != 0 && plan.predicted_peak_bytes <= memory_bytes;
  const uint64_t least = planned ? LargestLayerBytes(CatalogOf(index), plan) : 0;
  if (used + least < memory_bytes || least == 0) {
    if (used < memory_bytes) return memory_bytes - used;
    return InfeasibleError("--memory " + FormatBytes(memory_bytes) + " is less than the " +
                           FormatBytes(used) + " needed before the first shard; raise it");
  }
  return least;
}

}  // namespace sti
