#include "model/transformer.h"

#include <utility>

#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/lowp_attention.h"
#include "model/head.h"
#include "model/image_embedding.h"
#include "network/tensors.h"
#include "types/score.h"

namespace sti {

using enum TensorRole;

Transformer::Transformer(const ModelInfo& info, ThreadPool& pool,
                         std::unique_ptr<LayerExecutor> layers)
    : shape_(info.shape),
      pooler_(info.pooler),
      head_(info.head),
      eps_(static_cast<float>(info.layer_norm_eps)),
      pool_(pool),
      layers_(std::move(layers)) {}

Result<std::unique_ptr<Transformer>> Transformer::Create(const ModelInfo& info, ThreadPool& pool,
                                                         const Arithmetic& arithmetic) {
  STI_ASSIGN_OR_RETURN(auto linear, Linear::Create(arithmetic, pool, info.activation));
  const bool packed =
      arithmetic.type != ComputeType::kFp32 && !info.shape.causal && CanPackAttention();
  auto layers = std::make_unique<LayerExecutor>(info, std::move(linear), packed, pool);
  return std::unique_ptr<Transformer>(new Transformer(info, pool, std::move(layers)));
}

void Transformer::Reserve(uint32_t max_tokens, uint32_t width, uint32_t context) {
  layers_->Reserve({max_tokens, width, context});
}

void Transformer::Release() { layers_->Release(); }

void Transformer::VisitMemory(FunctionRef<void(AlignedBuffer&)> visit) {
  layers_->VisitMemory(visit);
}

uint64_t Transformer::RoomFor(const ModelShape& shape, const Arithmetic& arithmetic,
                              bool packed_attention, uint32_t threads,
                              const TransformerLimits& limits) {
  return LayerExecutor::RoomFor(shape, arithmetic, packed_attention, threads, limits);
}

uint64_t Transformer::working_bytes() const { return layers_->bytes(); }

void Transformer::RunLayer(const LayerCall& call, float* hidden) { layers_->Run(call, hidden); }

void Transformer::ComputeContext(const LayerCall& call, const float* hidden, float* context,
                                 size_t stride) {
  layers_->RunContext(call, hidden, context, stride);
}

void Transformer::FinishLayer(uint32_t rows, const LayerPart& part,
                              std::span<const ContextRef> contexts, float* hidden) {
  layers_->RunFinish(rows, part, contexts, hidden);
}

float* Transformer::EmbeddingSums(uint32_t tokens, float* hidden) {
  if (!shape_.embedding) return hidden;
  layers_->MakeRoom({tokens, layers_->limits().width});
  return layers_->sums();
}

void Transformer::FinishEmbeddings(float* hidden, uint32_t tokens,
                                   const EmbeddingParameters& parameters) {
  if (shape_.norm_before) return;  // the sums are the rows
  const uint32_t width = shape_.embedding_width();
  const uint32_t d = shape_.hidden;
  const float* norm_weight = parameters[kEmbeddingNormWeight].data();
  const float* norm_bias = parameters[kEmbeddingNormBias].data();
  const float* projection = parameters[kProjectionWeight].data();
  const float* projection_bias = parameters[kProjectionBias].data();
  float* const sums = EmbeddingSums(tokens, hidden);
  ForRows(pool_, tokens, [&](uint32_t row) {
    float* sum = sums + uint64_t{row} * width;
    LayerNormRow(sum, nullptr, norm_weight, norm_bias, width, eps_, sum);
    if (!shape_.embedding) return;
    for (uint32_t out = 0; out < d; ++out) {
      hidden[uint64_t{row} * d + out] =
          Dot(projection + uint64_t{out} * width, sum, width) + projection_bias[out];
    }
  });
}

void Transformer::EmbedImages(std::span<const float> images, const EmbeddingParameters& parameters,
                              float* hidden) {
  sti::EmbedImages(shape_, parameters, images, pool_, patches_, hidden);
}

void Transformer::Head(const Batch& batch, const float* hidden, const HeadParameters& parameters,
                       float* values) {
  switch (head_.output) {
    case HeadOutput::kLabels:
      return Classify(batch.Count(head_.rows()), hidden, parameters, values);
    case HeadOutput::kEmbedding:
      return EmbedSequences(head_, batch, hidden, shape_.hidden, values);
    case HeadOutput::kTokenLabels:
      return ClassifyTokens(shape_, parameters, batch.tokens(), hidden, pool_, values);
    case HeadOutput::kNextToken:
      break;  // BeginWords and ScoreWords: the words need not be in memory at once
  }
}

void Transformer::Classify(uint32_t rows, const float* hidden, const HeadParameters& parameters,
                           float* logits) {
  const ClassifierHead head{shape_, pooler_, parameters, eps_};
  head.Run(rows, hidden, pool_, pooled_, logits);
}

void Transformer::BeginWords(uint32_t rows, const float* hidden, const HeadParameters& parameters) {
  ClassifierHead{shape_, pooler_, parameters, eps_}.Pool(rows, hidden, pool_, pooled_);
}

void Transformer::ScoreWords(const RowTable& words, uint32_t first, std::span<const uint8_t> stored,
                             uint32_t rows, float* logits) {
  float* const scratch = pooled_.data() + size_t{rows} * shape_.hidden;
  sti::ScoreWords(words, first, stored, rows, pooled_.data(), pool_, scratch, logits);
}

void Transformer::MeterDecoding(bool on) { layers_->linear().MeterDecoding(on); }
double Transformer::TakeDecodeUs() { return layers_->linear().TakeDecodeUs(); }

Kernel Transformer::kernel() const { return layers_->linear().kernel(); }

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
