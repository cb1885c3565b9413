#include "format/part_selection.h"

#include <set>

namespace sti {
namespace {

Status Add(const ModelShape& shape, const Plan& plan, PartSelection& selection) {
  for (size_t k = 0; k < plan.layers.size(); ++k) {
    for (size_t i = 0; i < plan.slices[k].size(); ++i) {
      if (plan.layers[k] >= shape.layers || plan.slices[k][i] >= shape.width) {
        return DataError("a plan runs layer " + std::to_string(plan.layers[k]) + " slice " +
                         std::to_string(plan.slices[k][i]) + ", which the model does not have");
      }
      PartMask& mask = selection[size_t{plan.layers[k]} * shape.width + plan.slices[k][i]];
      mask = static_cast<PartMask>(mask | PartsForBits(plan.bits[k][i]));
    }
  }
  for (const Plan& variant : plan.variants) STI_RETURN_IF_ERROR(Add(shape, variant, selection));
  return {};
}

void AddBits(const Plan& plan, std::set<uint32_t>& bits) {
  for (const auto& row : plan.bits) bits.insert(row.begin(), row.end());
  for (const Plan& variant : plan.variants) AddBits(variant, bits);
}

}  // namespace

PartMask PartsForBits(uint32_t bits) {
  const uint32_t last = ShardPartIndex(bits);
  return static_cast<PartMask>(bits == kFullBits ? 1U << last : (2U << last) - 1);
}

PartSelection SelectAll(const ModelShape& shape, std::span<const uint32_t> bits) {
  PartMask mask = 0;
  for (uint32_t k : bits) mask = static_cast<PartMask>(mask | PartsForBits(k));
  return PartSelection(size_t{shape.layers} * shape.width, mask);
}

Result<PartSelection> SelectForPlans(const ModelShape& shape, std::span<const Plan> plans) {
  PartSelection selection(size_t{shape.layers} * shape.width, 0);
  for (const Plan& plan : plans) STI_RETURN_IF_ERROR(Add(shape, plan, selection));
  return selection;
}

std::vector<uint32_t> BitsOfPlans(std::span<const Plan> plans) {
  std::set<uint32_t> bits;
  for (const Plan& plan : plans) AddBits(plan, bits);
  return {bits.begin(), bits.end()};
}

}  // namespace sti
