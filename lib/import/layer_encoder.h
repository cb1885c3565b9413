// A layer of a model folder, made into the shards that a container stores.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "format/container_writer.h"
#include "format/part_selection.h"
#include "import/model_folder.h"

namespace sti {

/// One layer, quantised and cut into shards.
struct EncodedLayer {
  Codebook codebook;
  std::vector<EncodedShard> shards;  ///< [width]
  uint64_t outliers = 0;
};

/// Encodes the selected parts of a layer's shards. Thread-safe. Needs about 16 bytes a weight of
/// the layer while it runs.
Result<EncodedLayer> EncodeLayer(const ModelFolder& folder, uint32_t layer, CodebookKind codebook,
                                 const PartSelection& selection);

}  // namespace sti
