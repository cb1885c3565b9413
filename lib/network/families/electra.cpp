// ELECTRA (Clark et al., 2020): the encoder of BERT, whose embeddings may be narrower than its
// hidden rows and are projected then. Its head is a dense layer with GELU and a projection.
#include "network/families/bert_names.h"
#include "network/families/list.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr TensorNames::Entry kNames[] = {{kProjectionWeight, "embeddings_project.weight"},
                                         {kProjectionBias, "embeddings_project.bias"},
                                         {kPoolerWeight, "classifier.dense.weight"},
                                         {kPoolerBias, "classifier.dense.bias"},
                                         {kClassifierWeight, "classifier.out_proj.weight"},
                                         {kClassifierBias, "classifier.out_proj.bias"}};

}  // namespace

constinit const Family kElectraFamily = {
    .architecture = Architecture::kElectra,
    .model_type = "electra",
    .class_prefix = "Electra",
    .keys = {.embedding = "embedding_size"},
    .encoder = "electra.",
    .layers = "encoder.layer.",
    .names = TensorNames(kBertNames, kNames),
    .has_two_types = true,
    .default_embedding = 128,
    .pooler = PoolerActivation::kGelu,
    .tokenizer = {"ElectraTokenizer", true},
    .default_tokenizer = "BertTokenizer",
};

}  // namespace sti
