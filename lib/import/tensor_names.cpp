#include "import/tensor_names.h"

#include <array>
#include <string_view>

namespace sti {
namespace {

/// A dimension of a tensor, by name.
enum class Extent : uint8_t { kNone, kHidden, kFfn, kVocabulary, kPositions, kTypes, kLabels };

/// A role's extents, and its name in each architecture: behind the prefix of a layer for roles of a
/// layer, behind that of the encoder for embeddings, whole for the head.
struct RoleInfo {
  TensorRole role;
  Extent rows;
  Extent columns;
  std::array<std::string_view, 3> names;  ///< by Architecture
};

using enum TensorRole;
using enum Extent;

/// A layer of RoBERTa has BERT's names.
constexpr RoleInfo Layer(TensorRole role, Extent rows, Extent columns, std::string_view bert,
                         std::string_view distilbert) {
  return {role, rows, columns, {bert, distilbert, bert}};
}

/// So has everyone's embedding.
constexpr RoleInfo Embedding(TensorRole role, Extent rows, Extent columns, std::string_view name) {
  return {role, rows, columns, {name, name, name}};
}

constexpr std::array<RoleInfo, kTensorRoles> kRoles = {{
    Layer(kQueryWeight, kHidden, kHidden, "attention.self.query.weight", "attention.q_lin.weight"),
    Layer(kKeyWeight, kHidden, kHidden, "attention.self.key.weight", "attention.k_lin.weight"),
    Layer(kValueWeight, kHidden, kHidden, "attention.self.value.weight", "attention.v_lin.weight"),
    Layer(kOutputWeight, kHidden, kHidden, "attention.output.dense.weight",
          "attention.out_lin.weight"),
    Layer(kFfn1Weight, kFfn, kHidden, "intermediate.dense.weight", "ffn.lin1.weight"),
    Layer(kFfn2Weight, kHidden, kFfn, "output.dense.weight", "ffn.lin2.weight"),
    Layer(kQueryBias, kHidden, kNone, "attention.self.query.bias", "attention.q_lin.bias"),
    Layer(kKeyBias, kHidden, kNone, "attention.self.key.bias", "attention.k_lin.bias"),
    Layer(kValueBias, kHidden, kNone, "attention.self.value.bias", "attention.v_lin.bias"),
    Layer(kOutputBias, kHidden, kNone, "attention.output.dense.bias", "attention.out_lin.bias"),
    Layer(kFfn1Bias, kFfn, kNone, "intermediate.dense.bias", "ffn.lin1.bias"),
    Layer(kFfn2Bias, kHidden, kNone, "output.dense.bias", "ffn.lin2.bias"),
    Layer(kAttentionNormWeight, kHidden, kNone, "attention.output.LayerNorm.weight",
          "sa_layer_norm.weight"),
    Layer(kAttentionNormBias, kHidden, kNone, "attention.output.LayerNorm.bias",
          "sa_layer_norm.bias"),
    Layer(kOutputNormWeight, kHidden, kNone, "output.LayerNorm.weight", "output_layer_norm.weight"),
    Layer(kOutputNormBias, kHidden, kNone, "output.LayerNorm.bias", "output_layer_norm.bias"),
    Embedding(kWordEmbeddings, kVocabulary, kHidden, "embeddings.word_embeddings.weight"),
    Embedding(kPositionEmbeddings, kPositions, kHidden, "embeddings.position_embeddings.weight"),
    {kTypeEmbeddings,
     kTypes,
     kHidden,
     {"embeddings.token_type_embeddings.weight", "", "embeddings.token_type_embeddings.weight"}},
    Embedding(kEmbeddingNormWeight, kHidden, kNone, "embeddings.LayerNorm.weight"),
    Embedding(kEmbeddingNormBias, kHidden, kNone, "embeddings.LayerNorm.bias"),
    {kPoolerWeight,
     kHidden,
     kHidden,
     {"bert.pooler.dense.weight", "pre_classifier.weight", "classifier.dense.weight"}},
    {kPoolerBias,
     kHidden,
     kNone,
     {"bert.pooler.dense.bias", "pre_classifier.bias", "classifier.dense.bias"}},
    {kClassifierWeight,
     kLabels,
     kHidden,
     {"classifier.weight", "classifier.weight", "classifier.out_proj.weight"}},
    {kClassifierBias,
     kLabels,
     kNone,
     {"classifier.bias", "classifier.bias", "classifier.out_proj.bias"}},
}};

constexpr bool RolesAreInOrder() {
  for (size_t i = 0; i < kRoles.size(); ++i) {
    if (static_cast<size_t>(kRoles[i].role) != i) return false;
  }
  return true;
}
static_assert(RolesAreInOrder());

constexpr std::array<std::string_view, 3> kEncoders = {"bert.", "distilbert.", "roberta."};
constexpr std::array<std::string_view, 3> kLayers = {"encoder.layer.", "transformer.layer.",
                                                     "encoder.layer."};

uint64_t SizeOf(Extent extent, const ModelShape& shape) {
  switch (extent) {
    case kHidden:
      return shape.hidden;
    case kFfn:
      return shape.ffn;
    case kVocabulary:
      return shape.vocabulary;
    case kPositions:
      return shape.max_positions;
    case kTypes:
      return shape.token_types;
    case kLabels:
      return shape.labels;
    case kNone:
      break;
  }
  return 0;
}

}  // namespace

std::string TensorName(TensorRole role, uint32_t layer, Architecture architecture) {
  const auto which = static_cast<size_t>(architecture);
  std::string name(kRoles[static_cast<size_t>(role)].names[which]);
  if (name.empty() || role >= kPoolerWeight) return name;
  std::string prefix(kEncoders[which]);
  if (IsLayerRole(role)) prefix += std::string(kLayers[which]) + std::to_string(layer) + ".";
  return prefix + name;
}

std::vector<std::string> TensorNames(TensorRole role, uint32_t layer, Architecture architecture) {
  constexpr std::string_view kNorm = "LayerNorm.";
  std::vector<std::string> names = {TensorName(role, layer, architecture)};
  if (const size_t norm = names[0].find(kNorm); norm != std::string::npos) {
    const std::string_view last = names[0].ends_with("weight") ? "gamma" : "beta";
    names.push_back(names[0].substr(0, norm + kNorm.size()) + std::string(last));
  }
  const std::string_view encoder = kEncoders[static_cast<size_t>(architecture)];
  const size_t prefixed = names.size();
  for (size_t i = 0; i < prefixed; ++i) {
    if (!names[i].starts_with(encoder)) continue;
    std::string bare = names[i].substr(encoder.size());
    names.push_back(std::move(bare));
  }
  return names;
}

std::string ClassName(Architecture architecture) {
  constexpr std::string_view kClasses[] = {"Bert", "DistilBert", "Roberta"};
  return std::string(kClasses[static_cast<size_t>(architecture)]) + "ForSequenceClassification";
}

std::vector<uint64_t> TensorShape(TensorRole role, const ModelShape& shape) {
  const RoleInfo& info = kRoles[static_cast<size_t>(role)];
  if (info.columns == kNone) return {SizeOf(info.rows, shape)};
  return {SizeOf(info.rows, shape), SizeOf(info.columns, shape)};
}

}  // namespace sti
