// The names that BERT gave its tensors, which most encoders after it kept for all but their heads.
#pragma once

#include "network/families.h"

namespace sti {

inline constexpr TensorNames kBertNames = [] {
  using enum TensorRole;
  constexpr TensorNames::Entry kEntries[] = {
      {kQueryWeight, "attention.self.query.weight"},
      {kKeyWeight, "attention.self.key.weight"},
      {kValueWeight, "attention.self.value.weight"},
      {kOutputWeight, "attention.output.dense.weight"},
      {kFfn1Weight, "intermediate.dense.weight"},
      {kFfn2Weight, "output.dense.weight"},
      {kQueryBias, "attention.self.query.bias"},
      {kKeyBias, "attention.self.key.bias"},
      {kValueBias, "attention.self.value.bias"},
      {kOutputBias, "attention.output.dense.bias"},
      {kAttentionNormWeight, "attention.output.LayerNorm.weight"},
      {kAttentionNormBias, "attention.output.LayerNorm.bias"},
      {kFfn1Bias, "intermediate.dense.bias"},
      {kFfn2Bias, "output.dense.bias"},
      {kOutputNormWeight, "output.LayerNorm.weight"},
      {kOutputNormBias, "output.LayerNorm.bias"},
      {kTypeEmbeddings, "embeddings.token_type_embeddings.weight"},
      {kEmbeddingNormWeight, "embeddings.LayerNorm.weight"},
      {kEmbeddingNormBias, "embeddings.LayerNorm.bias"},
      {kWordEmbeddings, "embeddings.word_embeddings.weight"},
      {kPositionEmbeddings, "embeddings.position_embeddings.weight"},
  };
  return TensorNames(TensorNames(), kEntries);
}();

}  // namespace sti
