// A model folder is cut into a shard container (STI 4.2), a layer at a time: its weights are
// quantised, and its shards encoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "format/container_index.h"
#include "format/container_writer.h"
#include "import/model_folder.h"
#include "types/plan.h"

namespace sti {

/// Says how a model is sharded.
struct ShardOptions {
  std::vector<uint32_t> bits{2, 3, 4, 5, 6, 32};  ///< ascending; not used with plans
  std::vector<Plan> plans;                        ///< if any, store only what they read
  std::vector<std::string> plan_names;            ///< [plans] for messages
  /// The number of the stage, of one plan that has stages, whose device the container is for;
  /// nothing: it is for one that runs the whole model.
  std::optional<size_t> stage;
  CodebookKind codebook = CodebookKind::kScaledTree;
  RowCoding rows = RowCoding::kExact;  ///< coding of the word embeddings
  Layout layout = Layout::kShard;
  uint32_t threads = 1;   ///< layers quantised at once; memory grows with it, bytes do not change
  std::string unicode;    ///< version of the Unicode tables that the tokenizer uses
  ProgressSink progress;  ///< layers done
  CancelCheck cancelled;
};

/// The outcome of sharding a model.
struct ShardReport {
  ContainerIndex index;
  uint64_t file_bytes = 0;
  std::vector<uint64_t> outliers;  ///< [layers]
};

/// Shards the model in `folder` into the container `output`, whose bytes do not depend on the
/// thread count; writes nothing if `output` is empty (a dry run). On failure or cancellation
/// `output` is as it was. Errors: kDamaged for weights that are not finite, kForeign for a plan
/// that was made for another model.
Result<ShardReport> ShardModel(const ModelFolder& folder, const ShardOptions& options,
                               const std::string& output);

/// Returns the digest that names the model by its contents: config, weights, codebook and
/// vocabulary, not layout.
Digest ModelDigest(const ModelFolder& folder, CodebookKind codebook,
                   RowCoding rows = RowCoding::kExact);

/// Returns whether a digest names the model in the folder, sharded with whichever codebook and row
/// coding.
bool IsOfFolder(const Digest& digest, const ModelFolder& folder);

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
