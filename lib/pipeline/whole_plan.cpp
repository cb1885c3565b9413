#include "pipeline/whole_plan.h"

#include <string>

#include "base/remedy.h"
#include "types/submodel.h"

namespace sti {

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
  if (options.length > index.info.max_length()) {
    return UsageError("length " + std::to_string(options.length) + " is over the model's " +
                      std::to_string(index.info.max_length()));
  }
  Plan plan;
  plan.model = index.model;
  plan.shape = ShapeDigest(index.info);
  plan.strategy = Strategy::kWhole;
  plan.length = options.length != 0 ? options.length : index.info.max_length();
  RunUniformly(index.info.depth_layers[depth - 1], width, bits, &plan);
  return plan;
}

}  // namespace sti
