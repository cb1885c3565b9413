#include "format/part_selection.h"

#include <set>

#include "types/bits.h"

namespace sti {
namespace {

class Selector {
 public:
  Selector(const ModelShape& shape, PartSelection& selection)
      : shape_(shape), selection_(selection) {}

  Status AddPlan(const Plan& plan) {
    STI_RETURN_IF_ERROR(AddRows(plan, plan.bits));
    for (const PlanTurn& turn : plan.turns) {
      STI_RETURN_IF_ERROR(AddRows(plan, turn.bits));
      // What a turn keeps may be fewer bits than any turn computes with.
      for (const ShardAtBits& shard : turn.preload) STI_RETURN_IF_ERROR(AddShard(shard));
    }
    for (const Plan& variant : plan.variants) STI_RETURN_IF_ERROR(AddPlan(variant));
    return {};
  }

 private:
  /// `bits` is [n, m] of the plan's shards.
  Status AddRows(const Plan& plan, const Grid<uint32_t>& bits) {
    for (uint32_t k = 0; k < plan.layers.size(); ++k) {
      for (uint32_t i = 0; i < plan.width; ++i)
        STI_RETURN_IF_ERROR(AddShard({plan.Id(k, i), bits.At(k, i)}));
    }
    return {};
  }

  Status AddShard(const ShardAtBits& shard) {
    const auto [layer, slice] = shard.id;
    if (layer >= shape_.layers || slice >= shape_.width)
      return DataError("a plan runs " + NameOf(shard.id) + ", which the model does not have");
    PartSet& parts = selection_[size_t{layer} * shape_.width + slice];
    parts = parts.With(PartSet::For(shard.bits));
    return {};
  }

  const ModelShape& shape_;
  PartSelection& selection_;
};

void AddBits(const Plan& plan, std::set<uint32_t>& bits) {
  const auto add = [&](std::span<const uint32_t> of) { bits.insert(of.begin(), of.end()); };
  add(plan.bits.values());
  for (const PlanTurn& turn : plan.turns) {
    add(turn.bits.values());
    for (const ShardAtBits& shard : turn.preload) bits.insert(shard.bits);
  }
  for (const Plan& variant : plan.variants) AddBits(variant, bits);
}

}  // namespace

PartSelection SelectAll(const ModelShape& shape, std::span<const uint32_t> bits) {
  PartSet parts;
  for (uint32_t k : bits) parts = parts.With(PartSet::For(k));
  return PartSelection(size_t{shape.layers} * shape.width, parts);
}

Result<PartSelection> SelectForPlans(const ModelShape& shape, std::span<const Plan> plans) {
  PartSelection selection(size_t{shape.layers} * shape.width);
  Selector selector(shape, selection);
  for (const Plan& plan : plans) STI_RETURN_IF_ERROR(selector.AddPlan(plan));
  return selection;
}

std::vector<uint32_t> BitsOfPlans(std::span<const Plan> plans) {
  std::set<uint32_t> bits;
  for (const Plan& plan : plans) AddBits(plan, bits);
  return {bits.begin(), bits.end()};
}

}  // namespace sti
