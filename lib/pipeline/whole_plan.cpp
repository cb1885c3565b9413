#include "pipeline/whole_plan.h"

#include <numeric>
#include <string>

namespace sti {

Result<Plan> MakeWholePlan(const ContainerIndex& index, const WholePlanOptions& options) {
  const ModelShape& shape = index.info.shape;
  uint32_t depth = options.depth.value_or(shape.layers);
  uint32_t width = options.width.value_or(shape.width);
  uint32_t bits = options.bits.value_or(index.bits.back());
  if (depth < 1 || depth > shape.layers || width < 1 || width > shape.width) {
    return UsageError("submodel " + std::to_string(depth) + "x" + std::to_string(width) +
                      " is not inside the model's " + std::to_string(shape.layers) + "x" +
                      std::to_string(shape.width));
  }
  if (!index.Offers(bits)) {
    return UsageError("the model has no " + std::to_string(bits) + "-bit shards");
  }
  if (index.partial) {
    return UsageError("the container holds only what some plans read; give one of them by --plan");
  }
  if (options.length > index.info.max_length()) {
    return UsageError("length " + std::to_string(options.length) + " is over the model's " +
                      std::to_string(index.info.max_length()));
  }
  Plan plan;
  plan.model = index.model;
  plan.shape = ShapeDigest(index.info);
  plan.strategy = "whole";
  plan.length = options.length != 0 ? options.length : index.info.max_length();
  plan.layers = index.info.depth_layers[depth - 1];
  plan.width = width;
  std::vector<uint32_t> slices(width);
  std::iota(slices.begin(), slices.end(), 0U);
  plan.slices.assign(depth, slices);
  plan.bits.assign(depth, std::vector<uint32_t>(width, bits));
  return plan;
}

}  // namespace sti
