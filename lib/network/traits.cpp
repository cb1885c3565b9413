#include "network/traits.h"

#include <algorithm>
#include <iterator>

namespace sti {
namespace {

/// A trait: its name in containers, the minor version that it came with, and whether a model has
/// it.
struct Trait {
  std::string_view name;
  uint16_t minor;
  bool (*is_of)(const ModelInfo& info);
};

constexpr Trait kTraits[] = {
    {"embedding projection", 4,
     [](const ModelInfo& info) { return info.shape.embedding.has_value(); }},
    {"pooler gelu", 4,
     [](const ModelInfo& info) { return info.pooler == PoolerActivation::kGelu; }},
    {"sentence embedding", 5, [](const ModelInfo& info) { return info.embeds(); }},
    {"mean pooling", 5, [](const ModelInfo& info) { return info.head.pooling == Pooling::kMean; }},
    {"maximum pooling", 5,
     [](const ModelInfo& info) { return info.head.pooling == Pooling::kMaximum; }},
    {"unit length", 5, [](const ModelInfo& info) { return info.head.unit_length; }},
    {"token labels", 6, [](const ModelInfo& info) { return info.labels_tokens(); }},
    {"plain head", 8,
     [](const ModelInfo& info) { return info.has_labels() && !info.shape.has_pooler; }},
    {"norm before", 8, [](const ModelInfo& info) { return info.shape.norm_before; }},
    {"image input", 8, [](const ModelInfo& info) { return info.shape.image.has_value(); }},
    {"causal attention", 9, [](const ModelInfo& info) { return info.shape.causal; }},
    {"next token", 9, [](const ModelInfo& info) { return info.continues_texts(); }},
};

}  // namespace

std::vector<std::string_view> TraitsOf(const ModelInfo& info) {
  std::vector<std::string_view> names;
  for (const Trait& trait : kTraits) {
    if (trait.is_of(info)) names.push_back(trait.name);
  }
  return names;
}

uint16_t LeastMinorOfTraits(const ModelInfo& info) {
  uint16_t least = 0;
  for (const Trait& trait : kTraits) {
    if (trait.is_of(info)) least = std::max(least, trait.minor);
  }
  return least;
}

bool IsKnownTrait(std::string_view name) {
  return name == kStageTrait || std::any_of(std::begin(kTraits), std::end(kTraits),
                                            [&](const Trait& trait) { return trait.name == name; });
}

}  // namespace sti
