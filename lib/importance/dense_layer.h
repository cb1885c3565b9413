// A layer's weights decoded whole: for measuring, not for small devices.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "network/tensors.h"
#include "shard/view.h"
#include "types/model_info.h"

namespace sti {

/// One linear map of a whole layer, all slices together.
struct DenseMatrix {
  uint32_t ins = 0;
  uint32_t outs = 0;
  std::vector<float> weights;  ///< [ins, outs] as in y = x W, and kDenseSlack more
};

/// The matrices of a layer. Slice s has a share of the outputs of some and of the inputs of the
/// others (network/tensors.h).
using DenseLayer = ByRole<Home::kShard, DenseMatrix>;

/// Decodes all M slices of a layer into `layer`, whose memory it uses again. The same values for
/// any thread count.
void DecodeLayer(const ModelShape& shape, std::span<const ShardView> slices, ThreadPool& pool,
                 DenseLayer* layer);

/// layer -= other, for layers of one shape.
void Subtract(const DenseLayer& other, DenseLayer* layer);

}  // namespace sti
