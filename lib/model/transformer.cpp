#include "model/transformer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/checked.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/lowp_attention.h"
#include "model/attention.h"
#include "model/head.h"
#include "network/tensors.h"
#include "types/softmax.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr uint32_t kNormRows = 8;  // rows of a norm task: a few microseconds
constexpr uint64_t kSlack = kReadPastEnd;

// Slack also keeps rows of a power of two from falling on the same cache sets.
uint64_t PaddedStride(uint64_t width) { return RoundUp(width, kSlack) + kSlack; }

// Sizes of the working buffer's parts, in floats.
struct BufferLayout {
  BufferLayout(const ModelShape& shape, bool packed, const TransformerLimits& limits)
      : rows(limits.tokens),
        head_stride(PaddedStride(uint64_t{limits.width} * shape.head_dim())),
        key_stride(packed ? head_stride : PaddedStride(rows)),
        inner_stride(PaddedStride(uint64_t{limits.width} * shape.slice_ffn())),
        keys(packed ? rows * head_stride : uint64_t{limits.width} * shape.head_dim() * key_stride),
        overlay(
            RoundUp(std::max(2 * rows * head_stride + keys, rows * inner_stride) + kSlack, kSlack)),
        sums(RoundUp(rows * std::max(shape.hidden, shape.embedding_width()), kSlack)) {
    const uint32_t longest = std::min(limits.tokens, shape.max_positions);
    scores = packed ? PackedAttentionScratch(longest, shape.head_dim()) : AttentionScratch(longest);
  }
  [[nodiscard]] uint64_t bytes(uint32_t threads) const {
    return (overlay + sums + scores * threads) * sizeof(float);
  }

  uint64_t rows;
  uint64_t head_stride;
  uint64_t key_stride;
  uint64_t inner_stride;
  uint64_t keys;
  uint64_t overlay;  // queries, keys and values, and over them the FFN's inner activations
  uint64_t sums;
  uint64_t scores = 0;  // of each thread
};

LinearLimits LinearLimitsOf(const ShardMatrixTable& matrices, const TransformerLimits& most) {
  LinearLimits limits;
  limits.rows = most.tokens;
  limits.terms = most.width;
  for (const ShardMatrix& matrix : matrices) {
    limits.matrix_weights = std::max(limits.matrix_weights, matrix.outs * matrix.ins);
    limits.outs = std::max(limits.outs, matrix.outs);
    limits.ins = std::max(limits.ins, matrix.ins);
    if (matrix.scaled_by_output) limits.summed_ins = std::max(limits.summed_ins, matrix.ins);
  }
  return limits;
}

// The input that queries, keys and values are made from.
struct HeadInput {
  std::span<const ShardView> slices;
  std::span<const uint32_t> indexes;
  const float* hidden = nullptr;
};

// The output of attention: contexts [rows, slices * head_dim], and to `received` [tokens], unless
// it is null, what tokens receive is added.
struct HeadOutput {
  float* context = nullptr;
  size_t stride = 0;
  float* received = nullptr;
};

// sums[t] += parts[0, t] + ... + parts[heads - 1, t], in this order.
void AddHeadsOf(const float* parts, size_t heads, uint32_t tokens, float* sums) {
  for (size_t head = 0; head < heads; ++head) {
    for (uint32_t t = 0; t < tokens; ++t) sums[t] += parts[head * tokens + t];
  }
}

}  // namespace

uint32_t Batch::longest() const {
  uint32_t longest = 0;
  for (size_t s = 0; s + 1 < offsets.size(); ++s) {
    longest = std::max(longest, offsets[s + 1] - offsets[s]);
  }
  return longest;
}

void CopyFirsts(const Batch& batch, uint32_t d, const float* hidden, float* firsts) {
  for (uint32_t s = 0; s < batch.sequences(); ++s) {
    const float* from = hidden + size_t{batch.offsets[s]} * d;
    float* to = firsts + size_t{s} * d;
    if (from != to) std::copy_n(from, d, to);
  }
}

// Where things lie in the working buffer. Queries (then the context), keys and values are dead
// when the FFN begins, so its inner activations take their place.
struct Transformer::State {
  State(const ModelInfo& info, ThreadPool& thread_pool)
      : shape(info.shape),
        pooler(info.pooler),
        eps(static_cast<float>(info.layer_norm_eps)),
        matrices(ShardMatrices(info.shape)),
        pool(thread_pool) {}

  [[nodiscard]] float* floats() { return reinterpret_cast<float*>(buffer.data()); }
  void LayOut(uint32_t max_tokens, uint32_t max_width);
  void AddGroup(TensorRole matrix, std::span<const LinearTerm> group_terms, const float* bias,
                float* out, size_t out_stride, Epilogue epilogue);
  void Run(uint32_t tokens);
  void AddHeads(TensorRole matrix, const HeadInput& input, const std::vector<float>& bias,
                float* out, size_t head_step, size_t stride, Epilogue epilogue);
  void Context(const Batch& batch, const HeadInput& input, const LayerParameters& parameters,
               OutputRows rows, const HeadOutput& output);
  void Output(uint32_t rows, std::span<const ShardView> slices,
              std::span<const ContextRef> contexts, const LayerParameters& parameters);
  void Finish(uint32_t rows, std::span<const ShardView> slices, std::span<const uint32_t> indexes,
              const LayerParameters& parameters, float* hidden);
  void Ffn(uint32_t tokens, std::span<const ShardView> slices, std::span<const uint32_t> indexes,
           const LayerParameters& parameters, const float* hidden);
  void Norm(uint32_t tokens, const std::vector<float>& weight, const std::vector<float>& bias,
            const float* residual, float* hidden);
  template <typename F>
  void ForRows(uint32_t count, const F& visit);

  ModelShape shape;
  PoolerActivation pooler;
  float eps;
  ShardMatrixTable matrices;
  ThreadPool& pool;
  std::unique_ptr<Linear> linear;
  std::vector<LinearTerm> terms;
  std::vector<LinearSum> groups;
  std::vector<ContextRef> own_contexts;  ///< of RunLayer
  std::vector<float> pooled;             ///< of ClassifierHead

  uint32_t tokens_room = 0;
  uint32_t width_room = 0;
  AlignedBuffer buffer;
  float* queries = nullptr;  ///< [tokens, m * head_dim], later the context
  float* values = nullptr;   ///< [tokens, m * head_dim]
  size_t head_stride = 0;    ///< of both
  bool packed = false;       ///< attention too is computed in fewer bits than 32
  float* keys = nullptr;     ///< [m * head_dim, tokens]; packed: as the values
  size_t key_stride = 0;
  float* inner = nullptr;  ///< [tokens, m * slice_ffn], over the four above
  size_t inner_stride = 0;
  float* sums = nullptr;    ///< [tokens, d] what a residual is added to
  float* scores = nullptr;  ///< scratch of attention, for each worker
  uint64_t scores_stride = 0;
};

void Transformer::State::LayOut(uint32_t max_tokens, uint32_t max_width) {
  const BufferLayout layout(shape, packed, {max_tokens, max_width});
  head_stride = layout.head_stride;
  key_stride = layout.key_stride;
  inner_stride = layout.inner_stride;
  scores_stride = layout.scores;
  buffer.Renew(layout.bytes(pool.threads()));
  queries = floats();
  keys = queries + layout.rows * head_stride;
  values = keys + layout.keys;
  inner = queries;
  sums = queries + layout.overlay;
  scores = sums + layout.sums;
  tokens_room = max_tokens;
  width_room = max_width;
  terms.reserve(size_t{3} * max_width);
  groups.reserve(size_t{3} * max_width);
  own_contexts.reserve(max_width);
}

void Transformer::State::AddGroup(TensorRole matrix, std::span<const LinearTerm> group_terms,
                                  const float* bias, float* out, size_t out_stride,
                                  Epilogue epilogue) {
  groups.push_back({.terms = group_terms,
                    .bias = bias,
                    .outs = matrices[matrix].outs,
                    .out = out,
                    .out_stride = out_stride,
                    .epilogue = epilogue});
}

void Transformer::State::Run(uint32_t tokens) {
  linear->Run(tokens, groups);
  groups.clear();
  terms.clear();
}

// One head's rows of Q, K or V for each slice.
void Transformer::State::AddHeads(TensorRole matrix, const HeadInput& input,
                                  const std::vector<float>& bias, float* out, size_t head_step,
                                  size_t stride, Epilogue epilogue) {
  const uint32_t head = shape.head_dim();
  for (size_t i = 0; i < input.slices.size(); ++i) {
    terms.push_back({&input.slices[i], matrices[matrix], input.hidden, shape.hidden});
    AddGroup(matrix, {&terms.back(), 1}, bias.data() + uint64_t{input.indexes[i]} * head,
             out + i * head_step, stride, epilogue);
  }
}

// Q, K and V of the slices, each a head, and their attention.
void Transformer::State::Context(const Batch& batch, const HeadInput& input,
                                 const LayerParameters& parameters, OutputRows rows,
                                 const HeadOutput& output) {
  const uint32_t head = shape.head_dim();
  const bool first_only = rows == OutputRows::kFirst;
  HeadInput asking = input;
  if (first_only) {
    CopyFirsts(batch, shape.hidden, input.hidden, sums);  // where nothing else is yet
    asking.hidden = sums;
  }
  AddHeads(kQueryWeight, asking, parameters[kQueryBias], output.context, head, output.stride,
           Epilogue::kNone);
  if (first_only) Run(batch.sequences());
  if (packed) {
    AddHeads(kKeyWeight, input, parameters[kKeyBias], keys, head, key_stride, Epilogue::kNone);
  } else {
    AddHeads(kKeyWeight, input, parameters[kKeyBias], keys, head * key_stride, key_stride,
             Epilogue::kTranspose);
  }
  AddHeads(kValueWeight, input, parameters[kValueBias], values, head, head_stride, Epilogue::kNone);
  Run(batch.tokens());
  // Nothing else is in the sums now, which have room for a row a head.
  float* const parts = output.received != nullptr ? sums : nullptr;
  Attend({.queries = output.context,
          .query_stride = output.stride,
          .keys = keys,
          .key_stride = key_stride,
          .values = values,
          .value_stride = head_stride,
          .heads = static_cast<uint32_t>(input.slices.size()),
          .head_dim = head,
          .offsets = batch.offsets,
          .first_only = first_only,
          .packed = packed,
          .received = parts},
         pool, scores, scores_stride);
  if (parts != nullptr) AddHeadsOf(parts, input.slices.size(), batch.tokens(), output.received);
}

// sums = O(contexts) + bias.
void Transformer::State::Output(uint32_t rows, std::span<const ShardView> slices,
                                std::span<const ContextRef> contexts,
                                const LayerParameters& parameters) {
  for (size_t i = 0; i < slices.size(); ++i) {
    terms.push_back({&slices[i], matrices[kOutputWeight], contexts[i].data, contexts[i].stride});
  }
  AddGroup(kOutputWeight, terms, parameters[kOutputBias].data(), sums, shape.hidden,
           Epilogue::kNone);
  Run(rows);
}

// Computes the rest of a layer once sums hold the attention's output.
void Transformer::State::Finish(uint32_t rows, std::span<const ShardView> slices,
                                std::span<const uint32_t> indexes,
                                const LayerParameters& parameters, float* hidden) {
  Norm(rows, parameters[kAttentionNormWeight], parameters[kAttentionNormBias], sums, hidden);
  Ffn(rows, slices, indexes, parameters, hidden);
  Norm(rows, parameters[kOutputNormWeight], parameters[kOutputNormBias], sums, hidden);
}

// sums = FFN2(activation(FFN1(hidden))) + bias over the slices' neurons.
void Transformer::State::Ffn(uint32_t tokens, std::span<const ShardView> slices,
                             std::span<const uint32_t> indexes, const LayerParameters& parameters,
                             const float* hidden) {
  const uint32_t neurons = shape.slice_ffn();
  for (size_t i = 0; i < slices.size(); ++i) {
    terms.push_back({&slices[i], matrices[kFfn1Weight], hidden, shape.hidden});
    AddGroup(kFfn1Weight, {&terms.back(), 1},
             parameters[kFfn1Bias].data() + uint64_t{indexes[i]} * neurons, inner + i * neurons,
             inner_stride, Epilogue::kActivate);
  }
  Run(tokens);
  for (size_t i = 0; i < slices.size(); ++i) {
    terms.push_back({&slices[i], matrices[kFfn2Weight], inner + i * neurons, inner_stride});
  }
  AddGroup(kFfn2Weight, terms, parameters[kFfn2Bias].data(), sums, shape.hidden, Epilogue::kNone);
  Run(tokens);
}

// Calls visit(row) for each row, a few rows a task.
template <typename F>
void Transformer::State::ForRows(uint32_t count, const F& visit) {
  pool.ParallelFor((count + kNormRows - 1) / kNormRows, [&](uint32_t block, uint32_t) {
    const uint32_t end = std::min(count, (block + 1) * kNormRows);
    for (uint32_t row = block * kNormRows; row < end; ++row) visit(row);
  });
}

// hidden = norm(hidden + residual).
void Transformer::State::Norm(uint32_t tokens, const std::vector<float>& weight,
                              const std::vector<float>& bias, const float* residual,
                              float* hidden) {
  const uint32_t d = shape.hidden;
  ForRows(tokens, [&](uint32_t row) {
    const uint64_t at = uint64_t{row} * d;
    LayerNormRow(hidden + at, residual + at, weight.data(), bias.data(), d, eps, hidden + at);
  });
}

Transformer::Transformer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transformer::~Transformer() = default;

Result<std::unique_ptr<Transformer>> Transformer::Create(const ModelInfo& info, ThreadPool& pool,
                                                         const Arithmetic& arithmetic) {
  auto state = std::make_unique<State>(info, pool);
  STI_ASSIGN_OR_RETURN(state->linear, Linear::Create(arithmetic, pool, info.activation));
  state->packed = arithmetic.type != ComputeType::kFp32 && CanPackAttention();
  return std::unique_ptr<Transformer>(new Transformer(std::move(state)));
}

void Transformer::Reserve(uint32_t max_tokens, uint32_t width) {
  State& s = *state_;
  if (max_tokens == s.tokens_room && width == s.width_room) return;
  s.LayOut(max_tokens, width);
  s.linear->Reserve(LinearLimitsOf(s.matrices, {max_tokens, width}));
}

void Transformer::Release() {
  State& s = *state_;
  s.buffer = AlignedBuffer();
  s.tokens_room = s.width_room = 0;
  s.linear->Release();
}

void Transformer::VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) {
  visit(state_->buffer);
  state_->linear->VisitMemory(visit);
}

uint64_t Transformer::RoomFor(const ModelShape& shape, const Arithmetic& arithmetic,
                              bool packed_attention, uint32_t threads,
                              const TransformerLimits& limits) {
  return BufferLayout(shape, packed_attention, limits).bytes(threads) +
         Linear::RoomFor(arithmetic, LinearLimitsOf(ShardMatrices(shape), limits), threads);
}

uint64_t Transformer::working_bytes() const {
  return state_->buffer.size() + state_->linear->bytes();
}

void Transformer::MakeRoom(uint32_t tokens, uint32_t width) {
  const State& s = *state_;
  if (tokens > s.tokens_room || width > s.width_room) {
    Reserve(std::max(tokens, s.tokens_room), std::max(width, s.width_room));
  }
}

void Transformer::RunLayer(const Batch& batch, std::span<const ShardView> slices,
                           std::span<const uint32_t> slice_indexes,
                           const LayerParameters& parameters, float* hidden, OutputRows rows,
                           float* received) {
  State& s = *state_;
  MakeRoom(batch.tokens(), static_cast<uint32_t>(slices.size()));
  const bool first_only = rows == OutputRows::kFirst;
  s.Context(batch, {slices, slice_indexes, hidden}, parameters, rows,
            {s.queries, s.head_stride, received});
  if (first_only) CopyFirsts(batch, s.shape.hidden, hidden, hidden);
  s.own_contexts.clear();
  for (size_t i = 0; i < slices.size(); ++i) {
    s.own_contexts.push_back({s.queries + i * s.shape.head_dim(), s.head_stride});
  }
  const uint32_t count = first_only ? batch.sequences() : batch.tokens();
  s.Output(count, slices, s.own_contexts, parameters);
  s.Finish(count, slices, slice_indexes, parameters, hidden);
}

void Transformer::ComputeContext(const Batch& batch, std::span<const ShardView> slices,
                                 std::span<const uint32_t> slice_indexes,
                                 const LayerParameters& parameters, const float* hidden,
                                 OutputRows rows, float* context, size_t stride, float* received) {
  MakeRoom(batch.tokens(), static_cast<uint32_t>(slices.size()));
  state_->Context(batch, {slices, slice_indexes, hidden}, parameters, rows,
                  {context, stride, received});
}

void Transformer::FinishLayer(uint32_t rows, std::span<const ShardView> slices,
                              std::span<const uint32_t> slice_indexes,
                              std::span<const ContextRef> contexts,
                              const LayerParameters& parameters, float* hidden) {
  MakeRoom(rows, static_cast<uint32_t>(slices.size()));
  state_->Output(rows, slices, contexts, parameters);
  state_->Finish(rows, slices, slice_indexes, parameters, hidden);
}

float* Transformer::EmbeddingSums(uint32_t tokens, float* hidden) {
  if (!state_->shape.embedding) return hidden;
  MakeRoom(tokens, state_->width_room);
  return state_->sums;
}

void Transformer::FinishEmbeddings(float* hidden, uint32_t tokens,
                                   const EmbeddingParameters& parameters) {
  State& s = *state_;
  const uint32_t width = s.shape.embedding_width();
  const uint32_t d = s.shape.hidden;
  const float* norm_weight = parameters[kEmbeddingNormWeight].data();
  const float* norm_bias = parameters[kEmbeddingNormBias].data();
  const float* projection = parameters[kProjectionWeight].data();
  const float* projection_bias = parameters[kProjectionBias].data();
  float* const sums = EmbeddingSums(tokens, hidden);
  s.ForRows(tokens, [&](uint32_t row) {
    float* sum = sums + uint64_t{row} * width;
    LayerNormRow(sum, nullptr, norm_weight, norm_bias, width, s.eps, sum);
    if (!s.shape.embedding) return;
    for (uint32_t out = 0; out < d; ++out) {
      hidden[uint64_t{row} * d + out] =
          Dot(projection + uint64_t{out} * width, sum, width) + projection_bias[out];
    }
  });
}

void Transformer::Head(const Batch& batch, const float* hidden, const HeadParameters& parameters,
                       float* logits) {
  const ClassifierHead head{state_->shape, state_->pooler, parameters};
  head.Run(batch, hidden, state_->pool, state_->pooled, logits);
}

void Transformer::MeterDecoding(bool on) { state_->linear->MeterDecoding(on); }
double Transformer::TakeDecodeUs() { return state_->linear->TakeDecodeUs(); }

Kernel Transformer::kernel() const { return state_->linear->kernel(); }

void Softmax(float* logits, uint32_t rows, uint32_t labels) {
  for (uint32_t r = 0; r < rows; ++r) SoftmaxRow(logits + uint64_t{r} * labels, labels, 1.0f);
}

void Probabilities(Problem problem, std::span<float> logits) {
  if (problem == Problem::kSingleLabel) {
    return Softmax(logits.data(), 1, static_cast<uint32_t>(logits.size()));
  }
  for (float& logit : logits) logit = static_cast<float>(Sigmoid(double{logit}));
}

}  // namespace sti
