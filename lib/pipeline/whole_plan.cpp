#include "pipeline/whole_plan.h"

#include <span>
#include <string>
#include <vector>

#include "base/remedy.h"
#include "types/submodel.h"

namespace sti {
namespace {

/// Returns a plan without layers yet.
Result<Plan> MakePlanFor(const ContainerIndex& index, uint32_t length) {
  if (length > index.info.max_length()) {
    return UsageError("length " + std::to_string(length) + " is over the model's " +
                      std::to_string(index.info.max_length()));
  }
  Plan plan;
  plan.model = index.model;
  plan.shape = ShapeDigest(index.info);
  plan.strategy = Strategy::kWhole;
  plan.length = length != 0 ? length : index.info.max_length();
  return plan;
}

}  // namespace

Result<Plan> MakeWholePlan(const ContainerIndex& index, const WholePlanOptions& options) {
  if (index.partial) {
    return InfeasibleError("the container holds only what some plans read")
        .Fix(Remedy::kGiveItsPlan);
  }
  const ModelShape& shape = index.info.shape;
  uint32_t depth = options.depth.value_or(shape.layers);
  uint32_t width = options.width.value_or(shape.width);
  uint32_t bits = options.bits.value_or(index.bits.back());
  if (depth < 1 || depth > shape.layers || width < 1 || width > shape.width) {
    return UsageError("submodel " + NameOf(Submodel{depth, width}) + " is not inside the model's " +
                      NameOf(Submodel{shape.layers, shape.width}));
  }
  if (!index.Offers(bits)) {
    return UsageError("the model has no " + std::to_string(bits) + "-bit shards");
  }
  STI_ASSIGN_OR_RETURN(Plan plan, MakePlanFor(index, options.length));
  RunUniformly(index.info.depth_layers[depth - 1], width, bits, &plan);
  return plan;
}

Result<Plan> MakeHeldPlan(const ContainerIndex& index, const WholePlanOptions& options) {
  if (!index.partial) return MakeWholePlan(index, options);
  const std::vector<uint32_t> held = index.BitsOfWholeLayers();
  const uint32_t bits = options.bits.value_or(held.empty() ? 0 : held.back());
  const std::vector<uint32_t> layers = index.WholeLayersAt(bits);
  const uint32_t depth = options.depth.value_or(static_cast<uint32_t>(layers.size()));
  const uint32_t width = options.width.value_or(index.info.shape.width);
  if (depth < 1 || depth > layers.size() || width < 1 || width > index.info.shape.width) {
    return InfeasibleError("the container does not hold so many whole layers")
        .Fix(Remedy::kGiveWholeLayers);
  }
  STI_ASSIGN_OR_RETURN(Plan plan, MakePlanFor(index, options.length));
  RunUniformly(std::span(layers).first(depth), width, bits, &plan);
  return plan;
}

void ContinueTexts(const ModelInfo& info, bool bounded, Plan* plan) {
  if (!info.continues_texts() || plan->context != 0) return;
  plan->context = plan->length;
  plan->keeps_vocabulary = !bounded;
  for (PlanCore& variant : plan->variants) {
    variant.context = plan->context;
    variant.keeps_vocabulary = plan->keeps_vocabulary;
  }
}

}  // namespace sti
