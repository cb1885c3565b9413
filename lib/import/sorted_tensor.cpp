#include "import/sorted_tensor.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "network/tensors.h"

namespace sti {
namespace {

/// How a tensor is cut into places: `rows` times the places of one order, each of them a block of
/// elements side by side.
struct Places {
  std::span<const uint32_t> order;  ///< empty: the tensor has none
  uint64_t rows = 1;
};

Places PlacesOf(const TensorSpec& spec, const TensorView& tensor, uint32_t layer,
                const ModelOrder& order) {
  if (spec.cut == Cut::kNone) return {};
  const std::vector<uint32_t>& all = IsCutByHead(spec) ? order.heads : order.neurons;
  const size_t count = all.size() / order.depth_layers.size();
  return {std::span(all).subspan(layer * count, count), IsCutByInputs(spec) ? tensor.shape[0] : 1};
}

}  // namespace

TensorView SortedTensor(const TensorView& tensor, const TensorSpec& spec, uint32_t layer,
                        const ModelOrder& order) {
  const Places places = PlacesOf(spec, tensor, layer, order);
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
