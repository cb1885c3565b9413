// DistilBERT (Sanh et al., 2019): tokens have no types, and the head is a dense layer with ReLU.
#include "network/families/bert_names.h"
#include "network/families/list.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr TensorNames::Entry kNames[] = {{kQueryWeight, "attention.q_lin.weight"},
                                         {kKeyWeight, "attention.k_lin.weight"},
                                         {kValueWeight, "attention.v_lin.weight"},
                                         {kOutputWeight, "attention.out_lin.weight"},
                                         {kFfn1Weight, "ffn.lin1.weight"},
                                         {kFfn2Weight, "ffn.lin2.weight"},
                                         {kQueryBias, "attention.q_lin.bias"},
                                         {kKeyBias, "attention.k_lin.bias"},
                                         {kValueBias, "attention.v_lin.bias"},
                                         {kOutputBias, "attention.out_lin.bias"},
                                         {kAttentionNormWeight, "sa_layer_norm.weight"},
                                         {kAttentionNormBias, "sa_layer_norm.bias"},
                                         {kFfn1Bias, "ffn.lin1.bias"},
                                         {kFfn2Bias, "ffn.lin2.bias"},
                                         {kOutputNormWeight, "output_layer_norm.weight"},
                                         {kOutputNormBias, "output_layer_norm.bias"},
                                         {kTypeEmbeddings, ""},
                                         {kPoolerWeight, "pre_classifier.weight"},
                                         {kPoolerBias, "pre_classifier.bias"},
                                         {kClassifierWeight, "classifier.weight"},
                                         {kClassifierBias, "classifier.bias"}};

}  // namespace

constinit const Family kDistilBertFamily = {
    .architecture = Architecture::kDistilBert,
    .model_type = "distilbert",
    .class_prefix = "DistilBert",
    .keys = {.layers = "n_layers",
             .heads = "n_heads",
             .hidden = "dim",
             .ffn = "hidden_dim",
             .activation = "activation",
             .norm_eps = nullptr},
    .encoder = "distilbert.",
    .layers = "transformer.layer.",
    .names = TensorNames(kBertNames, kNames),
    .has_types = false,
    .pooler = PoolerActivation::kRelu,
    .tokenizer = {"DistilBertTokenizer", false},
    .default_tokenizer = "BertTokenizer",
};

}  // namespace sti
