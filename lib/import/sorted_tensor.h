// Tensors of a layer with its heads and neurons in another order (types/model_order.h).
#pragma once

#include <cstdint>

#include "import/weight_file.h"
#include "network/tensors.h"
#include "types/model_order.h"

namespace sti {

/// Returns a layer's tensor as it is when heads and neurons stand in `order`, which fits the model:
/// a copy in order, or the tensor itself where it has no place for either. Thread-safe.
TensorView SortedTensor(const TensorView& tensor, const TensorSpec& spec, uint32_t layer,
                        const ModelOrder& order);

}  // namespace sti
