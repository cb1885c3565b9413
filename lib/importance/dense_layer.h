// A layer's weights decoded whole: for measuring, not for small devices.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "shard/view.h"
#include "shard/weight_order.h"
#include "types/model_info.h"

namespace sti {

/// One linear map of a whole layer, all slices together.
struct DenseMatrix {
  uint32_t ins = 0;
  uint32_t outs = 0;
  std::vector<float> weights;  ///< [ins, outs] as in y = x W, and kDenseSlack more
};

/// The six matrices of a layer, by ShardMatrixIndex: Q, K, V [d, d], O [d, d], FFN1 [d, f], FFN2
/// [f, d]. Slice s has a share of the outputs of Q, K, V and FFN1, and of the inputs of O and FFN2.
using DenseLayer = std::array<DenseMatrix, kShardMatrices>;

/// Decodes all M slices of a layer into `layer`, whose memory it uses again. The same values for
/// any thread count.
void DecodeLayer(const ModelShape& shape, std::span<const ShardView> slices, ThreadPool& pool,
                 DenseLayer* layer);

/// layer -= other, for layers of one shape.
void Subtract(const DenseLayer& other, DenseLayer* layer);

}  // namespace sti
