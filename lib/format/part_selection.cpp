#include "format/part_selection.h"

#include <set>

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
      for (const PreloadedShard& shard : turn.preload)
        STI_RETURN_IF_ERROR(AddShard(shard.layer, shard.slice, shard.bits));
    }
    for (const Plan& variant : plan.variants) STI_RETURN_IF_ERROR(AddPlan(variant));
    return {};
  }

 private:
  /// `bits` is [n][m] of the plan's shards.
  Status AddRows(const Plan& plan, const std::vector<std::vector<uint32_t>>& bits) {
    for (size_t k = 0; k < plan.layers.size(); ++k) {
      for (size_t i = 0; i < plan.slices[k].size(); ++i)
        STI_RETURN_IF_ERROR(AddShard(plan.layers[k], plan.slices[k][i], bits[k][i]));
    }
    return {};
  }

  Status AddShard(uint32_t layer, uint32_t slice, uint32_t bits) {
    if (layer >= shape_.layers || slice >= shape_.width) {
      return DataError("a plan runs layer " + std::to_string(layer) + " slice " +
                       std::to_string(slice) + ", which the model does not have");
    }
    PartSet& parts = selection_[size_t{layer} * shape_.width + slice];
    parts = parts.With(PartSet::For(bits));
    return {};
  }

  const ModelShape& shape_;
  PartSelection& selection_;
};

void AddBits(const Plan& plan, std::set<uint32_t>& bits) {
  for (const auto& row : plan.bits) bits.insert(row.begin(), row.end());
  for (const PlanTurn& turn : plan.turns) {
    for (const auto& row : turn.bits) bits.insert(row.begin(), row.end());
    for (const PreloadedShard& shard : turn.preload) bits.insert(shard.bits);
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
