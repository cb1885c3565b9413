#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/container_writer.h"
#include "import/model_folder.h"
#include "import/shard_model.h"

namespace sti {

/// The matrices of a layer, in the order that quantisation and ties are defined by.
inline constexpr TensorRole kShardRoles[] = {TensorRole::kQueryWeight, TensorRole::kKeyWeight,
                                             TensorRole::kValueWeight, TensorRole::kOutputWeight,
                                             TensorRole::kFfn1Weight,  TensorRole::kFfn2Weight};

/// One layer, quantised and cut into shards.
struct EncodedLayer {
  Codebook codebook;
  std::vector<EncodedShard> shards;  ///< [width]
  uint64_t outliers = 0;
};

/// Thread-safe. Needs about 16 bytes a weight of the layer while it runs.
Result<EncodedLayer> EncodeLayer(const ModelFolder& folder, uint32_t layer,
                                 const ShardOptions& options);

}  // namespace sti
