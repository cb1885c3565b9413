#include "import/sorted_tensor.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace sti {
namespace {

/// How a tensor is cut into places: `rows` times the places of one order, each of them a block of
/// elements side by side.
struct Places {
  std::span<const uint32_t> order;  ///< empty: the tensor has none
  uint64_t rows = 1;
};

Places PlacesOf(const TensorView& tensor, TensorRole role, uint32_t layer,
                const ModelOrder& order) {
  const size_t layers = order.depth_layers.size();
  const auto of_layer = [&](std::span<const uint32_t> all) {
    const size_t count = all.size() / layers;
    return all.subspan(layer * count, count);
  };
  switch (role) {
    case TensorRole::kQueryWeight:
    case TensorRole::kKeyWeight:
    case TensorRole::kValueWeight:
    case TensorRole::kQueryBias:
    case TensorRole::kKeyBias:
    case TensorRole::kValueBias:
      return {of_layer(order.heads)};
    case TensorRole::kFfn1Weight:
    case TensorRole::kFfn1Bias:
      return {of_layer(order.neurons)};
    case TensorRole::kOutputWeight:
      return {of_layer(order.heads), tensor.shape[0]};
    case TensorRole::kFfn2Weight:
      return {of_layer(order.neurons), tensor.shape[0]};
    default:
      return {};
  }
}

}  // namespace

TensorView SortedTensor(const TensorView& tensor, TensorRole role, uint32_t layer,
                        const ModelOrder& order) {
  const Places places = PlacesOf(tensor, role, layer, order);
  if (places.order.empty()) return tensor;
  const size_t block = tensor.bytes.size() / (places.rows * places.order.size());
  auto sorted = std::make_shared<std::vector<uint8_t>>();
  sorted->reserve(tensor.bytes.size());
  for (uint64_t row = 0; row < places.rows; ++row) {
    for (const uint32_t from : places.order) {
      const auto part = tensor.bytes.subspan((row * places.order.size() + from) * block, block);
      sorted->insert(sorted->end(), part.begin(), part.end());
    }
  }
  ReleasePages(tensor);
  TensorView view = tensor;
  view.bytes = *sorted;
  view.mapped = false;
  view.owner = std::move(sorted);
  return view;
}

}  // namespace sti
