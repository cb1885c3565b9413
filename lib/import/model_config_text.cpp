// The small files of a model folder as export makes them from what a container knows.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "import/folder_file.h"
#include "import/model_config.h"
#include "import/tokenizer_source.h"
#include "network/families.h"
#include "types/model_info.h"

namespace sti {
namespace {

using OrderedJson = nlohmann::ordered_json;

const char* NameOf(Activation activation) {
  if (activation == Activation::kGelu) return "gelu";
  return activation == Activation::kGeluTanh ? "gelu_new" : "relu";
}

const char* TorchNameOf(DataType type) {
  if (type == DataType::kF32) return "float32";
  return type == DataType::kF16 ? "float16" : "bfloat16";
}

std::string Text(const OrderedJson& json) {
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// Whether depth n is the first n layers, as in a folder that says nothing else.
bool HasFirstLayers(const DepthMap& depths) {
  return std::all_of(depths.begin(), depths.end(), [](const std::vector<uint32_t>& layers) {
    return layers == FirstLayers(static_cast<uint32_t>(layers.size()));
  });
}

}  // namespace

std::string ModelConfigText(const ModelInfo& info) {
  const ModelShape& s = info.shape;
  const Family& family = FamilyOf(info);
  const ConfigKeys& keys = family.keys;
  OrderedJson json;
  json["model_type"] = family.model_type;
  json["architectures"] = {ClassOf(family, info.head.output)};
  json[keys.layers] = s.layers;
  json[keys.heads] = s.width;
  json[keys.hidden] = s.hidden;
  if (keys.embedding != nullptr) json[keys.embedding] = s.embedding_width();
  json[keys.ffn] = s.ffn;
  if (s.image) {
    json["image_size"] = s.image->size;
    json["patch_size"] = s.image->patch;
    json["num_channels"] = s.image->channels;
    json["qkv_bias"] = true;
  } else {
    json["vocab_size"] = s.vocabulary;
    json[keys.positions] = s.max_positions;
  }
  json[keys.activation] = NameOf(info.activation);
  if (family.has_types) json["type_vocab_size"] = s.token_types;
  if (keys.norm_eps != nullptr) json[keys.norm_eps] = info.layer_norm_eps;
  if (family.causal) {
    json["bos_token_id"] = json["eos_token_id"] = info.tokenizer.sep_id;
  } else if (info.has_text()) {
    json["pad_token_id"] = family.first_position == FirstPosition::kBehindPadding
                               ? info.position_offset - 1
                               : info.tokenizer.pad_id;
  }
  if (info.problem == Problem::kMultiLabel) json["problem_type"] = "multi_label_classification";
  json["torch_dtype"] = TorchNameOf(info.data_type);
  for (uint32_t id = 0; id < s.labels; ++id) {
    json["id2label"][std::to_string(id)] = info.labels[id];
    json["label2id"][info.labels[id]] = id;
  }
  if (info.elastic || !HasFirstLayers(info.depth_layers)) {
    json["elastic"] = {{"depth_layers", info.depth_layers},
                       {"head_order", "importance"},
                       {"ffn_order", "importance"},
                       {"min_width", info.min_width}};
    if (info.min_depth > 1) json["elastic"]["min_depth"] = info.min_depth;
    if (!info.elastic) json["elastic"]["trained"] = false;
  }
  return Text(json);
}

std::string TokenizerConfigText(const ModelInfo& info, const std::string& vocabulary) {
  const TokenizerInfo& t = info.tokenizer;
  OrderedJson json;
  json["tokenizer_class"] = FamilyOf(info).tokenizer.name;
  if (t.kind == TokenizerKind::kByteBpe) {
    json["add_prefix_space"] = t.add_prefix_space;
  } else {
    json["do_lower_case"] = t.lowercase;
    json["strip_accents"] = t.strip_accents;
    json["tokenize_chinese_chars"] = t.split_chinese;
  }
  json["model_max_length"] = info.max_length();
  if (t.cuts_begin) json["truncation_side"] = "left";
  if (LacksSecondType(info)) json["model_input_names"] = {"input_ids", "attention_mask"};
  json["unk_token"] = LineOf(vocabulary, t.unknown_id);
  if (!t.has_frame) {
    json["bos_token"] = json["eos_token"] = LineOf(vocabulary, t.sep_id);
    return Text(json);
  }
  json["cls_token"] = LineOf(vocabulary, t.cls_id);
  json["sep_token"] = LineOf(vocabulary, t.sep_id);
  json["pad_token"] = LineOf(vocabulary, t.pad_id);
  return Text(json);
}

std::string VocabularyJsonText(const std::string& vocabulary) {
  OrderedJson json = OrderedJson::object();
  uint32_t id = 0;
  for (std::string_view rest = vocabulary; !rest.empty(); ++id) {
    const size_t newline = std::min(rest.find('\n'), rest.size());
    json[std::string(rest.substr(0, newline))] = id;
    rest.remove_prefix(std::min(newline + 1, rest.size()));
  }
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace sti
