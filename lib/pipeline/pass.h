// The input and the output of a run. A pass is one computation on a route: it takes token
// ids, images, or the hidden rows that another pipeline has come to, through the layers of a
// route's plan (pipeline/routes.h), and gives logits or hidden rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "pipeline/routes.h"
#include "types/model_info.h"
#include "types/shard_id.h"

namespace sti {

/// Tokens that the model embeds. `types` has one entry for each of `ids`.
struct TokenInput {
  std::span<const uint32_t> ids;
  std::span<const uint32_t> types;
};

/// Images [images, channels, size, size], scaled as the model's pixels are, each of which is a
/// sequence: a class token, and a token for each patch.
struct ImageInput {
  std::span<const float> values;
};

/// Hidden rows [tokens, hidden] that layers before the plan's have come to. They are embedded.
struct HiddenInput {
  std::span<const float> rows;
};

/// One or several sequences, one after another, without padding. Not owning.
struct Pass {
  std::variant<TokenInput, HiddenInput, ImageInput> input;
  /// [sequences + 1] The first token of each sequence; the last entry is the end of all. Empty: one
  /// sequence, or as many as there are images.
  std::span<const uint32_t> offsets;
  /// The place of the first token in a sequence that passes continue: 0 begins one, and each
  /// further pass has the tokens behind those before. What they leave, keys and values, stays until
  /// a sequence begins anew or another plan comes; tokens from here on that had come are forgotten.
  /// Nothing: the pass has all of its sequences, and leaves nothing. Under a plan with a context.
  std::optional<uint32_t> first_position = {};
};

/// Returns the tokens of a pass through a model of `shape`, all sequences together; 0 of images for
/// one of texts.
inline size_t TokensOf(const Pass& pass, const ModelShape& shape) {
  if (const auto* tokens = std::get_if<TokenInput>(&pass.input)) return tokens->ids.size();
  if (const auto* images = std::get_if<ImageInput>(&pass.input)) {
    return shape.image ? images->values.size() / shape.image->values() * shape.max_positions : 0;
  }
  return std::get<HiddenInput>(pass.input).rows.size() / shape.hidden;
}

/// The result of a pass. `values` is used again: once it has grown, a run allocates nothing.
struct PassOutput {
  bool hidden = false;  ///< whether hidden rows of the plan's last layer are wanted, not logits
  /// Logits [sequences, labels], [tokens, labels] or [sequences, vocabulary], embeddings
  /// [sequences, d], or hidden rows [tokens, d].
  std::vector<float> values;
  bool wants_attention = false;  ///< whether `attention` is wanted
  /// [tokens] What each token received of its sequence's attention, summed over the layers and
  /// slices that were computed (Tabi 4.2). A last layer that computes first tokens alone, because
  /// the head wants no other, adds only what these give.
  std::vector<float> attention;
};

/// How one pass is to be answered. What the caller leaves open, the pipeline decides.
struct RunTerms {
  /// The moment from which latency counts, where the caller has worked on the input before.
  std::optional<Clock::time_point> taken;
  /// The deadline after `taken`, in microseconds: shards that would come too late for it are left
  /// out. The route's plan has times. Open: the run waits for all of them.
  std::optional<double> degrade_for_us;
  /// The route to run on. Open: that of the shortest plan that holds the pass.
  std::optional<RouteId> route;
  /// The shards that stay in memory after the run, of those that it runs or that are there. Open:
  /// those that the plan and the engagement say.
  std::optional<std::span<const ShardAtBits>> keep;
};

}  // namespace sti
