// The heads of models, on the rows that they want of the last layer (HeadTraits): norm, pooler and
// classifier, of which models have some, for labels of inputs, a classifier for labels of tokens,
// or what makes one vector of a sequence's rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "format/container_index.h"
#include "model/batch.h"
#include "model/layer_parameters.h"
#include "types/model_info.h"

namespace sti {

/// The head of a model of this shape and pooler, and its parameters; they outlive it.
struct ClassifierHead {
  const ModelShape& shape;
  PoolerActivation pooler;
  const HeadParameters& parameters;
  float norm_eps = 0;  ///< of the norm behind the last layer, where the shape has one

  /// Returns the bytes that `pooled` grows to.
  static uint64_t RoomFor(uint32_t hidden, uint32_t rows, uint32_t threads) {
    return (uint64_t{rows} + threads) * hidden * sizeof(float);
  }

  /// Goes from `hidden` [rows, d] to `logits` [rows, labels]. `pooled` receives what the classifier
  /// is given [rows, d], followed by a row of weights for each thread; it allocates nothing once it
  /// has grown.
  void Run(uint32_t rows, const float* hidden, ThreadPool& pool, std::vector<float>& pooled,
           float* logits) const {
    Pool(rows, hidden, pool, pooled);
    Classify(rows, pooled.data(), logits);
  }
  /// Does the first half of Run: `pooled` receives the input of the pooler's activation, or without
  /// a pooler the norms of the rows.
  void Pool(uint32_t rows, const float* hidden, ThreadPool& pool, std::vector<float>& pooled) const;
  /// Does the second half of Run: activates `pooled` [rows, d] in place if there is a pooler, and
  /// classifies it.
  void Classify(uint32_t rows, float* pooled, float* logits) const;
};

/// Labels tokens: goes from `hidden` [tokens, d] to `logits` [tokens, labels]. Thread-safe, as the
/// pool is.
void ClassifyTokens(const ModelShape& shape, const HeadParameters& parameters, uint32_t tokens,
                    const float* hidden, ThreadPool& pool, float* logits);

/// Gives words their logits, as `words`, the table of their rows, stores them: each is the product
/// of a row of `normed` [rows, d], behind the last norm, and the word's. `stored` has the rows of
/// words from `first` on, which have been checked; their logits go to `logits` [rows, vocabulary].
/// A logit has the same bits whichever words it is computed with. `scratch` [threads of the pool,
/// d] is written.
void ScoreWords(const RowTable& words, uint32_t first, std::span<const uint8_t> stored,
                uint32_t rows, const float* normed, ThreadPool& pool, float* scratch,
                float* logits);

/// Divides a vector by its length, unless that is 0. Pure.
void MakeUnitLength(std::span<float> vector);

/// Returns a DataError, the input's own, for a vector of zeros alone, which has no direction. Pure.
Status CheckDirection(std::span<const float> vector);

/// Pools rows [d], one after another, to one of their mean or of the greatest of each column. The
/// sums have one fixed order, that of the rows.
class RowPool {
 public:
  /// `pooling` is kMean or kMaximum.
  explicit RowPool(Pooling pooling) : is_mean_(pooling == Pooling::kMean) {}

  /// Begins anew; `pooled` [d] is the caller's, from here to Finish.
  void Begin(std::span<float> pooled);
  /// Takes `count` rows [count, d].
  void Add(const float* rows, uint32_t count, std::span<float> pooled);
  /// Leaves in `pooled` what the rows come to, of which there was one at least.
  void Finish(std::span<float> pooled) const;

 private:
  bool is_mean_;
  uint64_t count_ = 0;
};

/// Returns an error of the input if what its head gave, `values` [sequences, head_values()], is no
/// answer: a number is not finite, or an embedding that is to have unit length is all zeros. Pure.
[[nodiscard]] Status CheckHeadValues(const ModelInfo& info, std::span<const float> values);

/// Goes from `hidden` [rows, d], those that the traits want of a batch, to `embeddings` [sequences,
/// d]. A vector of zeros stays one, as it has no length to be divided by. Pure.
void EmbedSequences(const HeadTraits& traits, const Batch& batch, const float* hidden, uint32_t d,
                    float* embeddings);

}  // namespace sti
