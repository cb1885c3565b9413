// ViT (Dosovitskiy et al., 2021): images cut into patches, norms in front, and a classifier on the
// first token's row. DeiT without a distillation token is stored as one.
#include "network/families.h"
#include "network/families/list.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr TensorNames::Entry kNames[] = {
    {kQueryWeight, "attention.attention.query.weight"},
    {kKeyWeight, "attention.attention.key.weight"},
    {kValueWeight, "attention.attention.value.weight"},
    {kOutputWeight, "attention.output.dense.weight"},
    {kFfn1Weight, "intermediate.dense.weight"},
    {kFfn2Weight, "output.dense.weight"},
    {kQueryBias, "attention.attention.query.bias"},
    {kKeyBias, "attention.attention.key.bias"},
    {kValueBias, "attention.attention.value.bias"},
    {kOutputBias, "attention.output.dense.bias"},
    {kAttentionNormWeight, "layernorm_before.weight"},
    {kAttentionNormBias, "layernorm_before.bias"},
    {kFfn1Bias, "intermediate.dense.bias"},
    {kFfn2Bias, "output.dense.bias"},
    {kOutputNormWeight, "layernorm_after.weight"},
    {kOutputNormBias, "layernorm_after.bias"},
    {kPatchWeight, "embeddings.patch_embeddings.projection.weight"},
    {kPatchBias, "embeddings.patch_embeddings.projection.bias"},
    {kClassToken, "embeddings.cls_token"},
    {kPatchPositions, "embeddings.position_embeddings"},
    {kFinalNormWeight, "vit.layernorm.weight"},
    {kFinalNormBias, "vit.layernorm.bias"},
    {kClassifierWeight, "classifier.weight"},
    {kClassifierBias, "classifier.bias"},
};

}  // namespace

constinit const Family kVitFamily = {
    .architecture = Architecture::kVit,
    .model_type = "vit",
    .class_prefix = "ViT",
    .encoder = "vit.",
    .layers = "encoder.layer.",
    .names = TensorNames(TensorNames(), kNames),
    .input = FamilyInput::kImages,
    .norm_before = true,
    .has_types = false,
    .pooler = PoolerActivation::kNone,
};

}  // namespace sti
