// BERT (Devlin et al., 2019), which DynaBERT and TinyBERT are stored as too.
#include "network/families/bert_names.h"
#include "network/families/list.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr TensorNames::Entry kHeadNames[] = {{kPoolerWeight, "bert.pooler.dense.weight"},
                                             {kPoolerBias, "bert.pooler.dense.bias"},
                                             {kClassifierWeight, "classifier.weight"},
                                             {kClassifierBias, "classifier.bias"}};

}  // namespace

constinit const Family kBertFamily = {
    .architecture = Architecture::kBert,
    .model_type = "bert",
    .class_prefix = "Bert",
    .class_without_type = "Bert",
    .encoder = "bert.",
    .layers = "encoder.layer.",
    .names = TensorNames(kBertNames, kHeadNames),
    .has_two_types = true,
    .tokenizer = {"BertTokenizer", true},
    .default_tokenizer = "BertTokenizer",
};

}  // namespace sti
