// The elastic transformer (STI 4.1, Table 1): a BERT encoder, normalised after each residual, of
// which any m of the M slices of a layer may be computed.
//
// A layer is seven parallel loops over disjoint parts of the output; no two threads ever add to one
// number, and each number is summed in one fixed order. So with the native backend a sequence's
// values have the same bits whatever the thread count and whatever shares its batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/backend.h"
#include "model/layer_parameters.h"
#include "shard/view.h"
#include "shard/weight_order.h"
#include "types/model_info.h"

namespace sti {

/// Sequences one after another, without padding.
struct Batch {
  std::span<const uint32_t> offsets;  ///< [sequences + 1] first token of each, then the end
  [[nodiscard]] uint32_t sequences() const { return static_cast<uint32_t>(offsets.size() - 1); }
  [[nodiscard]] uint32_t tokens() const { return offsets.back(); }
  [[nodiscard]] uint32_t longest() const;
};

/// Copies the rows of first tokens of `hidden` [tokens, d], one after another, to `firsts`
/// [sequences, d], which may be `hidden` itself.
void CopyFirsts(const Batch& batch, uint32_t d, const float* hidden, float* firsts);

/// The tokens whose output a layer gives: all, or each sequence's first, which is all that the
/// head looks at.
enum class OutputRows : uint8_t { kAll, kFirst };

/// Floats that vectors may read past the end of a row.
inline constexpr uint32_t kReadPastEnd = 16;

/// The context of one slice, what its attention gives: [rows, head_dim].
struct ContextRef {
  const float* data = nullptr;
  size_t stride = 0;
};

/// The largest batches and layers that working buffers are laid out for.
struct TransformerLimits {
  uint32_t tokens = 0;  ///< most of a batch; no sequence is longer than the model's max_positions
  uint32_t width = 0;   ///< most slices of a layer
};

/// Computes layers of one model. Owns the working buffers; one thread at a time. The pool outlives
/// it. Sizes are trusted: whoever reads a model validates them. Hidden rows are read fastest where
/// they begin with a cache line (base/aligned_vector.h).
class Transformer {
 public:
  /// Makes a transformer. kMachine if the backend's library cannot be opened, or this CPU has no
  /// products of this arithmetic.
  static Result<std::unique_ptr<Transformer>> Create(const ModelInfo& info, ThreadPool& pool,
                                                     const Arithmetic& arithmetic);
  ~Transformer();
  Transformer(const Transformer&) = delete;
  Transformer& operator=(const Transformer&) = delete;

  /// Returns what working_bytes() is once this much is reserved, with attention packed or not. It
  /// depends on its arguments alone.
  static uint64_t RoomFor(const ModelShape& shape, const Arithmetic& arithmetic,
                          bool packed_attention, uint32_t threads, const TransformerLimits& limits);

  /// Makes room for batches and layers up to these limits. Replaces what was reserved before, so
  /// that smaller sizes give memory back.
  void Reserve(uint32_t max_tokens, uint32_t width);
  /// Gives back what was reserved; what computes next reserves what it needs.
  void Release();
  /// Visits what is reserved.
  void VisitMemory(FunctionRef<void(AlignedBuffer&)> visit);

  /// Returns the bytes of all working buffers, decoded panels included.
  [[nodiscard]] uint64_t working_bytes() const;

  /// Turns `hidden` [tokens, d] into the layer's output, in place. With OutputRows::kFirst that is
  /// [sequences, d] at its beginning, where natively first tokens have the bits that they have
  /// among all. slices[i] is stored slice slice_indexes[i]; 1 to M of them, mixed bits allowed;
  /// sums run in the order given. `received` [tokens], where given, is added what each token
  /// receives as a key, the weights of attention summed over slices and over the queries of `rows`
  /// (Tabi 4.2). Allocates nothing when reserved; reserves otherwise.
  void RunLayer(const Batch& batch, std::span<const ShardView> slices,
                std::span<const uint32_t> slice_indexes, const LayerParameters& parameters,
                float* hidden, OutputRows rows = OutputRows::kAll, float* received = nullptr);

  /// Computes the first piece of RunLayer: queries, keys and values of slices and their attention,
  /// from `hidden` [tokens, d], which stays as it is, to `context` [rows, slices * head_dim], rows
  /// being tokens or sequences. kReadPastEnd floats past the end of `context` may be read. With two
  /// pieces, layers which differ in a slice share what the others compute: FinishLayer with the
  /// contexts of all slices has the bits of RunLayer.
  void ComputeContext(const Batch& batch, std::span<const ShardView> slices,
                      std::span<const uint32_t> slice_indexes, const LayerParameters& parameters,
                      const float* hidden, OutputRows rows, float* context, size_t stride,
                      float* received = nullptr);
  /// Computes the second piece of RunLayer, behind attention, for `rows` rows of `hidden` [rows,
  /// d], in place.
  void FinishLayer(uint32_t rows, std::span<const ShardView> slices,
                   std::span<const uint32_t> slice_indexes, std::span<const ContextRef> contexts,
                   const LayerParameters& parameters, float* hidden);

  /// Returns where sums of word, position and type embeddings go, [tokens, E], before
  /// FinishEmbeddings: to `hidden` [tokens, d] itself, or where E is not d, to a working buffer.
  float* EmbeddingSums(uint32_t tokens, float* hidden);
  /// Normalises sums of embeddings, and projects them to d where the model does: `hidden` [tokens,
  /// d].
  void FinishEmbeddings(float* hidden, uint32_t tokens, const EmbeddingParameters& parameters);

  /// Computes the pooler (tanh or ReLU, as the model says) on each sequence's first token, then the
  /// classifier: `logits` [sequences, labels].
  void Head(const Batch& batch, const float* hidden, const HeadParameters& parameters,
            float* logits);

  /// Lets decoding be timed if `on`, as Linear::MeterDecoding does.
  void MeterDecoding(bool on);
  /// Returns the microseconds of decoding since the last call, mean over the threads.
  double TakeDecodeUs();

  /// Returns the arithmetic, as profiles name it.
  [[nodiscard]] Kernel kernel() const;

 private:
  void MakeRoom(uint32_t tokens, uint32_t width);

  struct State;
  explicit Transformer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Replaces each row of `logits` [rows, labels] by its softmax.
void Softmax(float* logits, uint32_t rows, uint32_t labels);

/// Turns the logits of one input into what its problem makes of them: a softmax over all of them,
/// or a sigmoid of each.
void Probabilities(Problem problem, std::span<float> logits);

}  // namespace sti
