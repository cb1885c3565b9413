// GPT-2 (Radford et al., 2019): norms in front, causal attention, and a head that is the word
// embeddings again.
#include "network/families/list.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr TensorNames::Entry kNames[] = {
    {kQueryWeight, "attn.c_attn.weight"},
    {kKeyWeight, "attn.c_attn.weight"},
    {kValueWeight, "attn.c_attn.weight"},
    {kOutputWeight, "attn.c_proj.weight"},
    {kFfn1Weight, "mlp.c_fc.weight"},
    {kFfn2Weight, "mlp.c_proj.weight"},
    {kQueryBias, "attn.c_attn.bias"},
    {kKeyBias, "attn.c_attn.bias"},
    {kValueBias, "attn.c_attn.bias"},
    {kOutputBias, "attn.c_proj.bias"},
    {kAttentionNormWeight, "ln_1.weight"},
    {kAttentionNormBias, "ln_1.bias"},
    {kFfn1Bias, "mlp.c_fc.bias"},
    {kFfn2Bias, "mlp.c_proj.bias"},
    {kOutputNormWeight, "ln_2.weight"},
    {kOutputNormBias, "ln_2.bias"},
    {kFinalNormWeight, "transformer.ln_f.weight"},
    {kFinalNormBias, "transformer.ln_f.bias"},
    {kWordEmbeddings, "wte.weight"},
    {kPositionEmbeddings, "wpe.weight"},
};

}  // namespace

constinit const Family kGpt2Family = {
    .architecture = Architecture::kGpt2,
    .model_type = "gpt2",
    .class_prefix = "GPT2",
    .keys = {.layers = "n_layer",
             .heads = "n_head",
             .hidden = "n_embd",
             .ffn = "n_inner",
             .activation = "activation_function",
             .norm_eps = "layer_norm_epsilon",
             .positions = "n_positions"},
    .encoder = "transformer.",
    .layers = "h.",
    .names = TensorNames(TensorNames(), kNames),
    .norm_before = true,
    .causal = true,
    .transposed = true,
    .has_types = false,
    .pooler = PoolerActivation::kNone,
    .tokenizer_kind = TokenizerKind::kByteBpe,
    .tokenizer = {"GPT2Tokenizer", false},
    .default_tokenizer = "GPT2Tokenizer",
    .has_frame = false,
};

}  // namespace sti
