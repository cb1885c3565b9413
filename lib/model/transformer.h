// The elastic transformer (STI 4.1, Table 1): an encoder, with its norms behind each residual sum
// or in front of attention and FFN, of which any m of the M slices of a layer may be computed.
//
// The program of a layer (network/layer_program.h) is executed as seven parallel loops over
// disjoint parts of the output; no two threads ever add to one number, and each number is summed in
// one fixed order. So with the native backend a sequence's values have the same bits whatever the
// thread count and whatever shares its batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "format/container_index.h"
#include "kernels/backend.h"
#include "model/batch.h"
#include "model/layer_executor.h"
#include "model/layer_parameters.h"
#include "types/model_info.h"

namespace sti {

/// Computes layers of one model. Owns the working buffers; one thread at a time. The pool outlives
/// it. Sizes are trusted: whoever reads a model validates them. Hidden rows are read fastest where
/// they begin with a cache line (base/aligned_buffer.h).
class Transformer {
 public:
  /// Makes a transformer. kMachine if the backend's library cannot be opened, or this CPU has no
  /// products of this arithmetic.
  static Result<std::unique_ptr<Transformer>> Create(const ModelInfo& info, ThreadPool& pool,
                                                     const Arithmetic& arithmetic);
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  /// Returns what working_bytes() is once this much is reserved, with attention packed or not. It
  /// depends on its arguments alone.
  static uint64_t RoomFor(const ModelShape& shape, const Arithmetic& arithmetic,
                          bool packed_attention, uint32_t threads, const TransformerLimits& limits);

  /// Makes room for batches and layers up to these limits. Replaces what was reserved before, so
  /// that smaller sizes give memory back.
  void Reserve(uint32_t max_tokens, uint32_t width, uint32_t context = 0);
  /// Gives back what was reserved; what computes next reserves what it needs.
  void Release();
  /// Visits what is reserved.
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit);

  /// Returns the bytes of all working buffers, decoded panels included.
  [[nodiscard]] uint64_t working_bytes() const;

  /// Turns `hidden` [tokens, d] into the layer's output, [rows, d] at its beginning, in place.
  /// First tokens have natively the bits that they have among all. Allocates nothing when reserved;
  /// reserves otherwise.
  void RunLayer(const LayerCall& call, float* hidden);

  /// Computes the first piece of RunLayer: queries, keys and values of slices and their attention,
  /// from `hidden` [tokens, d], which stays as it is, to `context` [rows, slices * head_dim], rows
  /// `stride` apart, of which kReadPastEnd floats past the end may be read. With two pieces, layers
  /// which differ in a slice share what the others compute: FinishLayer with the contexts of all
  /// slices has the bits of RunLayer.
  void ComputeContext(const LayerCall& call, const float* hidden, float* context, size_t stride);
  /// Computes the second piece of RunLayer, behind attention, for `rows` rows of `hidden` [rows,
  /// d], in place.
  void FinishLayer(uint32_t rows, const LayerPart& part, std::span<const ContextRef> contexts,
                   float* hidden);

  /// Returns where sums of word, position and type embeddings go, [tokens, E], before
  /// FinishEmbeddings: to `hidden` [tokens, d] itself, or where E is not d, to a working buffer.
  float* EmbeddingSums(uint32_t tokens, float* hidden);
  /// Normalises sums of embeddings, and projects them to d where the model does: `hidden` [tokens,
  /// d].
  void FinishEmbeddings(float* hidden, uint32_t tokens, const EmbeddingParameters& parameters);

  /// Makes the hidden rows of images: `images` [images, channels, size, size] to `hidden` [images,
  /// patches + 1, d].
  void EmbedImages(std::span<const float> images, const EmbeddingParameters& parameters,
                   float* hidden);

  /// Computes the head on the rows that it wants of a batch, `hidden` [rows, d], as the last layer
  /// leaves them: `values` [results, ModelInfo::head_values()], logits or embeddings, of each
  /// sequence or of each token (Batch::Results).
  void Head(const Batch& batch, const float* hidden, const HeadParameters& parameters,
            float* values);
  /// Computes the head of a model that gives labels, on a row of each of some sequences: `logits`
  /// [rows, labels].
  void Classify(uint32_t rows, const float* hidden, const HeadParameters& parameters,
                float* logits);

  /// Begins the head of a model that continues texts: takes the norms of the rows that it wants,
  /// `hidden` [rows, d], for ScoreWords, any number of times, until another head is computed.
  void BeginWords(uint32_t rows, const float* hidden, const HeadParameters& parameters);
  /// Gives words from `first` on their logits for those rows, as sti::ScoreWords does.
  void ScoreWords(const RowTable& words, uint32_t first, std::span<const uint8_t> stored,
                  uint32_t rows, float* logits);

  /// Lets decoding be timed if `on`, as Linear::MeterDecoding does.
  void MeterDecoding(bool on);
  /// Returns the microseconds of decoding since the last call, mean over the threads.
  double TakeDecodeUs();

  /// Returns the arithmetic, as profiles name it.
  [[nodiscard]] Kernel kernel() const;

 private:
  Transformer(const ModelInfo& info, ThreadPool& pool, std::unique_ptr<LayerExecutor> layers);

  ModelShape shape_;
  PoolerActivation pooler_;
  HeadTraits head_;
  float eps_;
  ThreadPool& pool_;
  std::unique_ptr<LayerExecutor> layers_;
  std::vector<float> pooled_;   ///< of the head
  std::vector<float> patches_;  ///< of EmbedImages
};

/// Replaces each row of `logits` [rows, labels] by its softmax.
void Softmax(float* logits, uint32_t rows, uint32_t labels);

/// Turns the logits of one input into what its problem makes of them: a softmax over all of them,
/// or a sigmoid of each.
void Probabilities(Problem problem, std::span<float> logits);

}  // namespace sti
