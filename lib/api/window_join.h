// A join makes of what the windows of one text gave what the text gives. Each head has its rule,
// and a join for it: labels are joined by the mean of their probabilities, an embedding is pooled
// over the tokens of all windows, and a token has the labels that its own window gives it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "types/model_info.h"
#include "types/text_window.h"

namespace sti {

/// Joins the windows of one text after another. One thread at a time.
class WindowJoin {
 public:
  virtual ~WindowJoin() = default;

  /// Returns whether it takes the hidden rows of a window's tokens, not what the head makes of
  /// them.
  [[nodiscard]] virtual bool wants_rows() const = 0;
  /// Begins a text.
  virtual void Begin() = 0;
  /// Takes what the next window gave: values as RunResult::values, or rows [tokens, d].
  virtual void Add(const TextWindow& window, std::span<const float> given) = 0;
  /// Makes of them what a run of the whole text would give: values as RunResult::values.
  virtual void Finish(std::vector<float>* values) = 0;
};

/// Returns the join for a model's head. `info` outlives it.
std::unique_ptr<WindowJoin> MakeWindowJoin(const ModelInfo& info);

/// Returns whether of a long text the first window alone counts: the head knows of no other token
/// than the first. Nothing is joined then.
inline bool FirstWindowCounts(const ModelInfo& info) {
  return info.embeds() && info.head.pooling == Pooling::kFirst;
}

}  // namespace sti
