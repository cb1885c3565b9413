#include "plan/search/submodels.h"

#include <algorithm>
#include <string>

#include "base/remedy.h"

namespace sti {
namespace {

Error ModelError(std::string what) {
  return DataError(std::move(what)).In(Source::kModel).Fix(Remedy::kMakeModelAgain);
}

Status ValidateDepths(const ModelInfo& info) {
  if (info.depth_layers.empty()) return {};
  if (info.depth_layers.size() != info.shape.layers)
    return ModelError("the depth map must have one row a depth");
  for (size_t row = 0; row < info.depth_layers.size(); ++row) {
    if (!IsDepthRow(info.depth_layers[row], row + 1, info.shape.layers)) {
      return ModelError("row " + std::to_string(row) +
                        " of the depth map does not name that many layers");
    }
  }
  return {};
}

/// Returns the least depth and the least width that the wish allows.
Submodel SmallestOf(const ModelInfo& info, const SubmodelWish& wish) {
  const Submodel least = wish.allow_untrained ? Submodel{1, 1} : info.SmallestTrained();
  return {least.depth, std::max(least.width, wish.width_min)};
}

/// Returns the one submodel that the wish names.
Result<std::vector<Submodel>> NamedSubmodel(const ModelInfo& info, const DeviceModel& device,
                                            const SubmodelWish& wish) {
  const auto [depth, width] = *wish.named;
  const ModelShape& shape = info.shape;
  if (depth == 0 || width == 0 || depth > shape.layers || width > shape.width) {
    return UsageError("submodel " + NameOf(Submodel{depth, width}) + " does not fit a model of " +
                      NameOf(Submodel{shape.layers, shape.width}) + "; ask for a smaller one");
  }
  if (!info.WasTrained(*wish.named) && !wish.allow_untrained) {
    return InfeasibleError("submodel " + NameOf(Submodel{depth, width}) +
                           " was not trained, its answers would mean little")
        .Fix(Remedy::kGiveInRequest,
             NameOf(Submodel{shape.layers, shape.width}) + " or allow_untrained");
  }
  if (!device.LayerUs(width)) {
    return UsageError("no compute time for width " + std::to_string(width))
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureTheseWidths);
  }
  return std::vector<Submodel>{{depth, width}};
}

}  // namespace

std::vector<uint32_t> LayersOfDepth(const ModelInfo& info, uint32_t depth) {
  return info.depth_layers.empty() ? FirstLayers(depth) : info.depth_layers[depth - 1];
}

Status ValidateModel(const ModelInfo& info, const ShardCatalog& catalog) {
  const ModelShape& shape = info.shape;
  if (shape.layers == 0 || shape.width == 0) return ModelError("it has no shards");
  if (catalog.layers != shape.layers || catalog.width != shape.width) {
    return ModelError("the shards are " + NameOf(Submodel{catalog.layers, catalog.width}) +
                      ", the model is " + NameOf(Submodel{shape.layers, shape.width}));
  }
  return ValidateDepths(info);
}

Result<std::vector<Submodel>> AllowedSubmodels(const ModelInfo& info, const DeviceModel& device,
                                               const SubmodelWish& wish) {
  if (wish.named) return NamedSubmodel(info, device, wish);
  const ModelShape& shape = info.shape;
  const Submodel least = SmallestOf(info, wish);
  std::vector<Submodel> submodels;
  for (uint32_t depth = least.depth; depth <= shape.layers; ++depth) {
    for (uint32_t width = least.width; width <= shape.width; ++width) {
      const bool known = device.LayerUs(width).has_value();
      if (known) submodels.push_back({depth, width});
      const bool hole = !known && width > device.narrowest();
      if (hole && !wish.interpolate && !device.widths_were_chosen()) {
        return DataError("compute has no width " + std::to_string(width) + " at length " +
                         std::to_string(device.length()))
            .In(Source::kProfile)
            .Fix(Remedy::kMeasureOrEstimateWidths);
      }
    }
  }
  if (submodels.empty()) {
    return UsageError("no compute time for any width from " + std::to_string(least.width) + " to " +
                      std::to_string(shape.width))
        .In(Source::kProfile)
        .Fix(Remedy::kMeasureTheseWidths);
  }
  return submodels;
}

const Submodel& LargestThenDeepest(std::span<const Submodel> submodels, double similar) {
  uint64_t most = 0;
  for (const Submodel& submodel : submodels) most = std::max(most, submodel.shards());
  const double enough = (1 - similar) * static_cast<double>(most) - 1e-9;
  const Submodel* best = nullptr;
  for (const Submodel& submodel : submodels) {
    if (static_cast<double>(submodel.shards()) < enough) continue;
    if (best == nullptr || submodel.depth > best->depth ||
        (submodel.depth == best->depth && submodel.width > best->width))
      best = &submodel;
  }
  return best == nullptr ? submodels.front() : *best;
}

}  // namespace sti
