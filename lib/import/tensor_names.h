// The role of a tensor says what a model uses it for. Each architecture has its own names for the
// roles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "types/model_info.h"

namespace sti {

/// The role of a tensor in the model. Those before kWordEmbeddings exist once a layer, the others
/// once.
enum class TensorRole : uint8_t {
  kQueryWeight,          ///< [hidden, hidden]; rows are outputs, as in all matrices here
  kKeyWeight,            ///< [hidden, hidden]
  kValueWeight,          ///< [hidden, hidden]
  kOutputWeight,         ///< [hidden, hidden]
  kFfn1Weight,           ///< [ffn, hidden]
  kFfn2Weight,           ///< [hidden, ffn]
  kQueryBias,            ///< [hidden]
  kKeyBias,              ///< [hidden]
  kValueBias,            ///< [hidden]
  kOutputBias,           ///< [hidden]
  kFfn1Bias,             ///< [ffn]
  kFfn2Bias,             ///< [hidden]
  kAttentionNormWeight,  ///< [hidden], after the attention output
  kAttentionNormBias,    ///< [hidden]
  kOutputNormWeight,     ///< [hidden], after the FFN
  kOutputNormBias,       ///< [hidden]
  kWordEmbeddings,       ///< [vocabulary, hidden]
  kPositionEmbeddings,   ///< [max_positions, hidden]
  kTypeEmbeddings,       ///< [token_types, hidden]
  kEmbeddingNormWeight,  ///< [hidden]
  kEmbeddingNormBias,    ///< [hidden]
  kPoolerWeight,         ///< [hidden, hidden]
  kPoolerBias,           ///< [hidden]
  kClassifierWeight,     ///< [labels, hidden]
  kClassifierBias,       ///< [labels]
};

/// Returns whether a role exists once a layer.
constexpr bool IsLayerRole(TensorRole role) { return role < TensorRole::kWordEmbeddings; }

/// Returns whether a role is one of the six matrices of a layer, which get cut into shards.
constexpr bool IsShardRole(TensorRole role) { return role < TensorRole::kQueryBias; }

/// The number of roles, which count from 0.
inline constexpr size_t kTensorRoles = static_cast<size_t>(TensorRole::kClassifierBias) + 1;

/// Returns the usual name of a tensor: "bert.encoder.layer.3.attention.self.query.weight". `layer`
/// only counts for layer roles. Empty if the architecture has no such tensor (DistilBERT's token
/// types).
std::string TensorName(TensorRole role, uint32_t layer = 0,
                       Architecture architecture = Architecture::kBert);

/// Returns all names that a tensor may have, the usual one first: with gamma and beta for a norm's
/// weight and bias, and without the name of the encoder in front.
std::vector<std::string> TensorNames(TensorRole role, uint32_t layer, Architecture architecture);

/// Returns the Hugging Face class that loads a classifier of this architecture:
/// "BertForSequenceClassification".
std::string ClassName(Architecture architecture);

/// Returns the shape that the tensor has in a model of `shape`.
std::vector<uint64_t> TensorShape(TensorRole role, const ModelShape& shape);

}  // namespace sti
