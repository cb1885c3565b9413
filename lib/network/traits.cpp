#include "network/traits.h"

#include <algorithm>
#include <iterator>

namespace sti {
namespace {

/// A trait: its name in containers, and whether a model has it.
struct Trait {
  std::string_view name;
  bool (*is_of)(const ModelInfo& info);
};

constexpr Trait kTraits[] = {
    {"embedding projection",
     [](const ModelInfo& info) { return info.shape.embedding.has_value(); }},
    {"pooler gelu", [](const ModelInfo& info) { return info.pooler == PoolerActivation::kGelu; }},
    {"sentence embedding", [](const ModelInfo& info) { return info.embeds(); }},
    {"mean pooling", [](const ModelInfo& info) { return info.head.pooling == Pooling::kMean; }},
    {"maximum pooling",
     [](const ModelInfo& info) { return info.head.pooling == Pooling::kMaximum; }},
    {"unit length", [](const ModelInfo& info) { return info.head.unit_length; }},
    {"token labels", [](const ModelInfo& info) { return info.labels_tokens(); }},
    {"plain head",
     [](const ModelInfo& info) { return info.has_labels() && !info.shape.has_pooler; }},
    {"norm before", [](const ModelInfo& info) { return info.shape.norm_before; }},
    {"image input", [](const ModelInfo& info) { return info.shape.image.has_value(); }},
};

}  // namespace

std::vector<std::string_view> TraitsOf(const ModelInfo& info) {
  std::vector<std::string_view> names;
  for (const Trait& trait : kTraits) {
    if (trait.is_of(info)) names.push_back(trait.name);
  }
  return names;
}

bool IsKnownTrait(std::string_view name) {
  return name == kStageTrait || std::any_of(std::begin(kTraits), std::end(kTraits),
                                            [&](const Trait& trait) { return trait.name == name; });
}

}  // namespace sti
