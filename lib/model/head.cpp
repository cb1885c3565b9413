#include "model/head.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "base/remedy.h"
#include "format/row_codec.h"
#include "kernels/decode.h"
#include "kernels/elementwise.h"
#include "model/layer_executor.h"
#include "network/tensors.h"
#include "types/finite.h"
#include "types/score.h"

namespace sti {
namespace {

constexpr uint32_t kOutputs = 16;  // of the pooler, a task

// Goes from a row [d] to its logits [labels].
void ClassifyRow(const ModelShape& shape, const HeadParameters& parameters, const float* row,
                 float* logits) {
  const uint32_t d = shape.hidden;
  for (uint32_t label = 0; label < shape.labels; ++label) {
    const float* weights = parameters[TensorRole::kClassifierWeight].data() + uint64_t{label} * d;
    logits[label] = Dot(weights, row, d) + parameters[TensorRole::kClassifierBias][label];
  }
}

// Widens a stored row.
void WidenRow(const RowTable& table, std::span<const uint8_t> stored, float* row) {
  if (table.coding == RowCoding::kExact)
    return WidenWeights(stored.data(), table.type, table.columns, row);
  std::fill_n(row, table.columns, 0.0F);
  AddRow(table, stored, row);
}

}  // namespace

void ClassifierHead::Pool(uint32_t rows, const float* hidden, ThreadPool& pool,
                          std::vector<float>& pooled) const {
  const uint32_t d = shape.hidden;
  pooled.resize(RoomFor(d, rows, pool.threads()) / sizeof(float));
  if (!shape.has_pooler) {
    assert(shape.norm_before);
    ForRows(pool, rows, [&](uint32_t row) {
      const size_t at = size_t{row} * d;
      LayerNormRow(hidden + at, nullptr, parameters[TensorRole::kFinalNormWeight].data(),
                   parameters[TensorRole::kFinalNormBias].data(), d, norm_eps, pooled.data() + at);
    });
    return;
  }
  pool.ParallelFor((d + kOutputs - 1) / kOutputs, [&](uint32_t task, uint32_t worker) {
    const uint32_t end = std::min(d, (task + 1) * kOutputs);
    float* weights = pooled.data() + (uint64_t{rows} + worker) * d;
    for (uint32_t out = task * kOutputs; out < end; ++out) {
      parameters.pooler_weight.Row(out, d, weights);
      for (uint32_t row = 0; row < rows; ++row) {
        pooled[uint64_t{row} * d + out] =
            Dot(weights, hidden + uint64_t{row} * d, d) + parameters[TensorRole::kPoolerBias][out];
      }
    }
  });
}

void ClassifierHead::Classify(uint32_t rows, float* pooled, float* logits) const {
  const uint32_t d = shape.hidden;
  for (uint32_t r = 0; r < rows; ++r) {
    float* row = pooled + uint64_t{r} * d;
    switch (pooler) {
      case PoolerActivation::kTanh:
        TanhRow(row, d);
        break;
      case PoolerActivation::kRelu:
        for (uint32_t i = 0; i < d; ++i) row[i] = std::max(row[i], 0.0f);
        break;
      case PoolerActivation::kGelu:
        Activate(Activation::kGelu, row, d, 1, d);
        break;
      case PoolerActivation::kNone:
        break;
    }
    ClassifyRow(shape, parameters, row, logits + uint64_t{r} * shape.labels);
  }
}

void ClassifyTokens(const ModelShape& shape, const HeadParameters& parameters, uint32_t tokens,
                    const float* hidden, ThreadPool& pool, float* logits) {
  ForRows(pool, tokens, [&](uint32_t token) {
    ClassifyRow(shape, parameters, hidden + uint64_t{token} * shape.hidden,
                logits + uint64_t{token} * shape.labels);
  });
}

void ScoreWords(const RowTable& words, uint32_t first, std::span<const uint8_t> stored,
                uint32_t rows, const float* normed, ThreadPool& pool, float* scratch,
                float* logits) {
  constexpr uint32_t kWordsATask = 16;
  const auto count = static_cast<uint32_t>(stored.size() / words.row_bytes);
  const uint32_t d = words.columns;
  pool.ParallelFor((count + kWordsATask - 1) / kWordsATask, [&](uint32_t task, uint32_t worker) {
    float* const word = scratch + size_t{worker} * d;
    const uint32_t end = std::min(count, (task + 1) * kWordsATask);
    for (uint32_t i = task * kWordsATask; i < end; ++i) {
      WidenRow(words, stored.subspan(size_t{i} * words.row_bytes, words.row_bytes), word);
      for (uint32_t row = 0; row < rows; ++row)
        logits[size_t{row} * words.rows + first + i] = Dot(word, normed + size_t{row} * d, d);
    }
  });
}

void RowPool::Begin(std::span<float> pooled) {
  count_ = 0;
  std::ranges::fill(pooled, is_mean_ ? 0.0F : -std::numeric_limits<float>::infinity());
}

void RowPool::Add(const float* rows, uint32_t count, std::span<float> pooled) {
  for (uint32_t row = 0; row < count; ++row) {
    const float* values = rows + size_t{row} * pooled.size();
    for (size_t i = 0; i < pooled.size(); ++i) {
      // A value that is no number stays one, so that it is noticed.
      if (is_mean_) pooled[i] += values[i];
      if (!is_mean_ && (values[i] > pooled[i] || std::isnan(values[i]))) pooled[i] = values[i];
    }
  }
  count_ += count;
}

void RowPool::Finish(std::span<float> pooled) const {
  if (!is_mean_) return;
  for (float& value : pooled) value /= static_cast<float>(count_);
}

Status CheckHeadValues(const ModelInfo& info, std::span<const float> values) {
  const std::string answer = info.embeds()            ? "embedding"
                             : info.continues_texts() ? "next token"
                                                      : "label";
  if (!AllFinite(values)) {
    return DataError("the model's numbers overflow for it, so that it has no " + answer)
        .In(Source::kInput)
        .Fix(Remedy::kMakeModelAgain);
  }
  if (!info.head.unit_length) return {};
  const uint32_t d = info.head_values();
  for (; !values.empty(); values = values.subspan(d)) {
    STI_RETURN_IF_ERROR(CheckDirection(values.first(d)));
  }
  return {};
}

void MakeUnitLength(std::span<float> vector) {
  const double length = LengthOf(vector);
  if (length == 0) return;
  for (float& value : vector) value = static_cast<float>(double{value} / length);
}

Status CheckDirection(std::span<const float> vector) {
  const bool is_zero = std::ranges::all_of(vector, [](float value) { return value == 0; });
  if (!is_zero) return {};
  return DataError("its embedding is all zeros, which has no direction").In(Source::kInput);
}

void EmbedSequences(const HeadTraits& traits, const Batch& batch, const float* hidden, uint32_t d,
                    float* embeddings) {
  for (uint32_t s = 0; s < batch.sequences(); ++s) {
    const std::span<float> vector(embeddings + size_t{s} * d, d);
    if (traits.pooling == Pooling::kFirst) {
      std::copy_n(hidden + size_t{s} * d, d, vector.begin());
    } else {
      const uint32_t first = batch.offsets[s];
      RowPool pool(traits.pooling);
      pool.Begin(vector);
      pool.Add(hidden + size_t{first} * d, batch.offsets[s + 1] - first, vector);
      pool.Finish(vector);
    }
    if (traits.unit_length) MakeUnitLength(vector);
  }
}

}  // namespace sti
