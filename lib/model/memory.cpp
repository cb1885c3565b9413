#include "model/memory.h"

#include <algorithm>

#include "kernels/backend.h"
#include "kernels/lowp_attention.h"
#include "model/head.h"
#include "model/image_embedding.h"
#include "model/key_value_cache.h"
#include "model/resident_model.h"
#include "model/row_store.h"
#include "model/transformer.h"

namespace sti {
namespace {

constexpr uint32_t kMostTokens = 1U << 20;
constexpr uint32_t kMostThreads = 4096;

}  // namespace

uint64_t WorkingBytes(const ContainerIndex& index, const WorkingTerms& terms) {
  const ModelShape& shape = index.info.shape;
  const uint32_t tokens = std::min(terms.extent.tokens, kMostTokens);
  const uint32_t context = std::min(terms.extent.context, kMostTokens);
  const uint32_t threads = std::clamp(terms.threads, 1U, kMostThreads);
  const ComputeType type = terms.kernel.type.value_or(ComputeType::kFp32);
  const Arithmetic arithmetic{BackendNamed(terms.kernel.name), type};
  const AttentionLayouts layouts = AttentionLayoutsOf(terms.kernel.name, type);
  uint64_t transformer = 0;
  for (const bool packed : {false, true}) {
    // Attention with a mask is never packed.
    const bool may_be = shape.causal ? !packed : packed ? layouts.packed : layouts.plain;
    if (!may_be) continue;
    transformer =
        std::max(transformer, Transformer::RoomFor(shape, arithmetic, packed, threads,
                                                   {tokens, terms.extent.width, context}));
  }
  const NetworkEnds& ends = terms.extent.ends;
  const uint64_t embedding = index.info.has_text()
                                 ? RowStore::RoomFor(index, tokens, terms.extent.context)
                                 : ImageScratchBytes(shape, threads);
  const uint64_t kept = context == 0 ? 0
                                     : KeyValueCache::BytesFor(shape, terms.extent.depth,
                                                               terms.extent.width, context);
  const uint64_t words = terms.extent.keeps_vocabulary ? index.words.bytes() : 0;
  return transformer + kept + words + (ends.text ? embedding : 0) +
         uint64_t{tokens} * shape.hidden * sizeof(float) +
         (ends.head ? ClassifierHead::RoomFor(shape.hidden, terms.extent.sequences, threads) : 0);
}

uint64_t GatheredImageBytes(const ContainerIndex& index, uint32_t images) {
  const ModelShape& shape = index.info.shape;
  return shape.image && images > 1 ? images * shape.image->values() * sizeof(float) : 0;
}

uint64_t ResidentBytes(const ContainerIndex& index) {
  return ResidentBytes(index, {0, index.info.shape.layers, {}});
}

uint64_t ResidentBytes(const ContainerIndex& index, const StageExtent& stage) {
  uint64_t bytes = 0;
  for (const ResidentLocation& part : index.resident) {
    if (!IsText(part.kind) && IsOfStage(part, stage))
      bytes += ResidentModel::BytesFor(part, index.info.shape);
  }
  return bytes;
}

}  // namespace sti
