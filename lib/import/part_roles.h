// Which tensors make up which part of a container, in stored order (spec/container.md).
#pragma once

#include "import/model_folder.h"

namespace sti {

inline constexpr TensorRole kEmbeddingRoles[] = {
    TensorRole::kTypeEmbeddings, TensorRole::kEmbeddingNormWeight, TensorRole::kEmbeddingNormBias};
inline constexpr TensorRole kLayerRoles[] = {TensorRole::kQueryBias,
                                             TensorRole::kKeyBias,
                                             TensorRole::kValueBias,
                                             TensorRole::kOutputBias,
                                             TensorRole::kAttentionNormWeight,
                                             TensorRole::kAttentionNormBias,
                                             TensorRole::kFfn1Bias,
                                             TensorRole::kFfn2Bias,
                                             TensorRole::kOutputNormWeight,
                                             TensorRole::kOutputNormBias};
inline constexpr TensorRole kHeadRoles[] = {TensorRole::kPoolerWeight, TensorRole::kPoolerBias,
                                            TensorRole::kClassifierWeight,
                                            TensorRole::kClassifierBias};
/// The matrices of a layer, in the order that quantisation and ties are defined by.
inline constexpr TensorRole kShardRoles[] = {TensorRole::kQueryWeight, TensorRole::kKeyWeight,
                                             TensorRole::kValueWeight, TensorRole::kOutputWeight,
                                             TensorRole::kFfn1Weight,  TensorRole::kFfn2Weight};

}  // namespace sti
