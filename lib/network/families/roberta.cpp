// RoBERTa (Liu et al., 2019): byte-level BPE, one token type in use, and positions that begin
// behind the padding token's id. Its head is a dense layer and a projection.
#include "network/families/bert_names.h"
#include "network/families/list.h"

namespace sti {
namespace {

using enum TensorRole;

constexpr TensorNames::Entry kHeadNames[] = {{kPoolerWeight, "classifier.dense.weight"},
                                             {kPoolerBias, "classifier.dense.bias"},
                                             {kClassifierWeight, "classifier.out_proj.weight"},
                                             {kClassifierBias, "classifier.out_proj.bias"}};

}  // namespace

constinit const Family kRobertaFamily = {
    .architecture = Architecture::kRoberta,
    .model_type = "roberta",
    .class_prefix = "Roberta",
    .encoder = "roberta.",
    .layers = "encoder.layer.",
    .names = TensorNames(kBertNames, kHeadNames),
    .default_pad_id = 1,
    .first_position = FirstPosition::kBehindPadding,
    .tokenizer_kind = TokenizerKind::kByteBpe,
    .tokenizer = {"RobertaTokenizer", false},
    .default_tokenizer = "RobertaTokenizer",
};

}  // namespace sti
