#include "import/model_config.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/remedy.h"
#include "import/folder_file.h"
#include "import/tokenizer_source.h"
#include "network/families.h"
#include "types/limits.h"
#include "types/model_info.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// An activation by a name that Hugging Face's library has for it. Some names are of the same
/// function, computed in other words.
struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {{"gelu", Activation::kGelu},
                                            {"gelu_python", Activation::kGelu},
                                            {"gelu_new", Activation::kGeluTanh},
                                            {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                            {"gelu_fast", Activation::kGeluTanh},
                                            {"gelu_accurate", Activation::kGeluTanh},
                                            {"gelu_python_tanh", Activation::kGeluTanh},
                                            {"relu", Activation::kRelu}};

/// Returns the families as a message names them: model_type "bert", "distilbert" or "roberta".
std::string SpelledTypes() {
  std::vector<std::string> types;
  for (const auto* family : Families())
    types.push_back("\"" + std::string(family->model_type) + "\"");
  return "model_type " + EitherOf(types);
}

std::string SupportedModels() { return "; only models with " + SpelledTypes() + " are supported"; }

/// Returns the type of a model whose config.json does not say it: that of the family whose keys and
/// class it has. Empty if there is none.
std::string_view TypeWithout(const ObjectReader& reader) {
  const Json* names = reader.Find("architectures");
  for (const Family* family : Families()) {
    if (family->class_without_type.empty()) continue;
    if (reader.Find(family->keys.heads) == nullptr || reader.Find(family->keys.hidden) == nullptr) {
      continue;
    }
    const std::string first = "[\"" + std::string(family->class_without_type);
    if (names == nullptr || names->dump().starts_with(first)) return family->model_type;
  }
  return {};
}

/// The head of a class of transformers, which the end of the class's name tells.
struct ClassEnding {
  std::string_view ending;
  FamilyInput input;
  HeadTraits head;
};
constexpr ClassEnding kClassEndings[] = {
    {"ForSequenceClassification", FamilyInput::kTexts, HeadTraits()},
    {"ForTokenClassification", FamilyInput::kTexts, HeadTraits::OfTokenLabels()},
    {"ForImageClassification", FamilyInput::kImages, HeadTraits()},
    {"LMHeadModel", FamilyInput::kTexts, HeadTraits::OfNextToken()},
};

/// Fills a ModelInfo from one config.json, a group of keys a step.
class ConfigReader {
 public:
  ConfigReader(const std::string& path, const Json& config, const std::optional<HeadTraits>& embeds)
      : reader_(path, config), embeds_(embeds) {}

  Result<ModelInfo> Read() {
    STI_RETURN_IF_ERROR(ReadFamily());
    STI_RETURN_IF_ERROR(CheckEncoder());
    STI_RETURN_IF_ERROR(ReadShape());
    STI_RETURN_IF_ERROR(ReadActivation());
    STI_RETURN_IF_ERROR(ReadHead());
    STI_RETURN_IF_ERROR(ReadElastic());
    return std::move(info_);
  }

 private:
  Status ReadFamily();
  Status CheckEncoder() const;
  Status CheckDecoder() const;
  Result<HeadTraits> NamedHead() const;
  Status ReadShape();
  Status ReadEmbedding();
  Status ReadTexts();
  Status ReadPositions();
  Status ReadEndOfText();
  Status ReadImages();
  Status ReadActivation();
  Status ReadHead();
  Status ReadLabels();
  Status ReadLabelNames(const Json& names);
  Status ReadProblem();
  Status ReadElastic();
  Status ReadDepthLayers(const Json& rows);
  Result<uint32_t> ReadLeast(const Json& elastic, const char* key, uint32_t most);
  Result<std::vector<uint32_t>> ReadDepthRow(const Json& row, uint32_t depth) const;

  ObjectReader reader_;
  const std::optional<HeadTraits>& embeds_;
  const Family* family_ = nullptr;
  ModelInfo info_;
};

Status ConfigReader::ReadFamily() {
  STI_ASSIGN_OR_RETURN(const std::string type,
                       reader_.String("model_type", std::string(TypeWithout(reader_))));
  family_ = FindFamily(type);
  if (family_ == nullptr) {
    return reader_.Unsupported("model_type is \"" + type + "\"" + SupportedModels());
  }
  info_.architecture = family_->architecture;
  return {};
}

Result<HeadTraits> ConfigReader::NamedHead() const {
  const Json* names = reader_.Find("architectures");
  if (names == nullptr) return family_->causal ? HeadTraits::OfNextToken() : HeadTraits();
  const auto is_text = [](const Json& name) { return name.is_string(); };
  if (!names->is_array() || !std::all_of(names->begin(), names->end(), is_text)) {
    return reader_.Bad("architectures is not a list of names; mend the file");
  }
  for (const Json& name : *names) {
    for (const ClassEnding& known : kClassEndings) {
      const bool continues = known.head.output == HeadOutput::kNextToken;
      if (known.input == family_->input && continues == family_->causal &&
          name.get_ref<const std::string&>().ends_with(known.ending)) {
        return known.head;
      }
    }
  }
  const std::string named = names->dump().substr(0, 100);
  if (family_->input == FamilyInput::kImages) {
    return reader_.Unsupported("architectures name no classifier of images, " + named);
  }
  if (family_->causal) {
    return reader_.Unsupported("architectures name no model that continues texts, " + named);
  }
  return reader_.Unsupported("architectures name no classifier of texts or tokens, " + named)
      .Fix(Remedy::kGivePooling);
}

Status ConfigReader::CheckEncoder() const {
  STI_ASSIGN_OR_RETURN(const std::string positions,
                       reader_.String("position_embedding_type", "absolute"));
  if (positions != "absolute") {
    return reader_.Unsupported("position_embedding_type is \"" + positions +
                               "\"; only \"absolute\" is supported");
  }
  STI_ASSIGN_OR_RETURN(const auto decoder, reader_.Bool("is_decoder"));
  if (decoder.value_or(false)) return reader_.Unsupported("is_decoder is true" + SupportedModels());
  return family_->causal ? CheckDecoder() : Status();
}

// Attention of GPT-2 that is not the usual one.
Status ConfigReader::CheckDecoder() const {
  constexpr std::pair<const char*, bool> kUsual[] = {{"scale_attn_weights", true},
                                                     {"scale_attn_by_inverse_layer_idx", false},
                                                     {"add_cross_attention", false}};
  for (const auto& [key, usual] : kUsual) {
    STI_ASSIGN_OR_RETURN(const auto value, reader_.Bool(key));
    if (value.value_or(usual) == usual) continue;
    return reader_.Unsupported(std::string(key) + " is " + (usual ? "false" : "true") + "; only " +
                               (usual ? "true" : "false") + " is supported");
  }
  return {};
}

Status ConfigReader::ReadShape() {
  ModelShape& shape = info_.shape;
  STI_ASSIGN_OR_RETURN(shape.layers, reader_.Number(family_->keys.layers, 1, kMaxLayers));
  STI_ASSIGN_OR_RETURN(shape.width, reader_.Number(family_->keys.heads, 1, kMaxWidth));
  STI_ASSIGN_OR_RETURN(shape.hidden, reader_.Number(family_->keys.hidden, 1, kMaxHidden));
  std::optional<uint32_t> usual_ffn;
  if (family_->causal) usual_ffn = std::min(4 * shape.hidden, kMaxFfn);  // where it is null
  STI_ASSIGN_OR_RETURN(shape.ffn, reader_.Number(family_->keys.ffn, 1, kMaxFfn, usual_ffn));
  shape.norm_before = family_->norm_before;
  shape.causal = family_->causal;
  STI_RETURN_IF_ERROR(family_->input == FamilyInput::kImages ? ReadImages() : ReadTexts());
  // Each slice is one head and an equal share of the FFN; a container has no other slices.
  const auto check = [&](const char* key, uint32_t size) -> Status {
    if (size % shape.width == 0) return {};
    return reader_.Unsupported(std::string(key) + " " + std::to_string(size) +
                               " is no multiple of " + family_->keys.heads + " " +
                               std::to_string(shape.width) +
                               ", so it has no equal slices; use a model where it is");
  };
  STI_RETURN_IF_ERROR(check(family_->keys.hidden, shape.hidden));
  return check(family_->keys.ffn, shape.ffn);
}

Status ConfigReader::ReadTexts() {
  STI_RETURN_IF_ERROR(ReadEmbedding());
  STI_ASSIGN_OR_RETURN(info_.shape.vocabulary, reader_.Number("vocab_size", 1, kMaxVocabulary));
  return ReadPositions();
}

Status ConfigReader::ReadImages() {
  STI_ASSIGN_OR_RETURN(const auto biased, reader_.Bool("qkv_bias"));
  if (!biased.value_or(true)) {
    return reader_.Unsupported("qkv_bias is false; only true is supported");
  }
  ImageShape image;
  STI_ASSIGN_OR_RETURN(image.size, reader_.Number("image_size", 1, kMaxImageSize, 224));
  STI_ASSIGN_OR_RETURN(image.patch, reader_.Number("patch_size", 1, kMaxImageSize, 16));
  STI_ASSIGN_OR_RETURN(image.channels, reader_.Number("num_channels", 1, kMaxChannels, 3));
  if (!IsImageShape(image)) {
    return reader_.Unsupported("image_size " + std::to_string(image.size) +
                               " is not 1 to 255 times patch_size " + std::to_string(image.patch));
  }
  info_.shape.image = image;
  info_.shape.max_positions = image.patches() + 1;
  return {};
}

Status ConfigReader::ReadEmbedding() {
  const char* key = family_->keys.embedding;
  if (key == nullptr) return {};
  STI_ASSIGN_OR_RETURN(const uint32_t width,
                       reader_.Number(key, 1, kMaxHidden, family_->default_embedding));
  if (width != info_.shape.hidden) info_.shape.embedding = width;
  return {};
}

Status ConfigReader::ReadPositions() {
  ModelShape& shape = info_.shape;
  STI_ASSIGN_OR_RETURN(shape.max_positions,
                       reader_.Number(family_->keys.positions, 2, kMaxPositions));
  if (family_->causal) return ReadEndOfText();
  STI_ASSIGN_OR_RETURN(
      info_.tokenizer.pad_id,
      reader_.Number("pad_token_id", 0, shape.vocabulary - 1, family_->default_pad_id));
  shape.token_types = 1;  // of a family without them: a row of zeros
  if (family_->has_types) {
    STI_ASSIGN_OR_RETURN(shape.token_types,
                         reader_.Number("type_vocab_size", 1, kMaxTokenTypes, 2));
  }
  if (family_->first_position == FirstPosition::kZero) return {};
  info_.position_offset = info_.tokenizer.pad_id + 1;
  if (info_.position_offset < shape.max_positions && info_.max_length() >= 2) return {};
  return reader_.Bad("max_position_embeddings " + std::to_string(shape.max_positions) +
                     " leaves no room behind pad_token_id " +
                     std::to_string(info_.tokenizer.pad_id) + "; get a sound copy");
}

// The one control token, at which an answer ends. It stands in for all others.
Status ConfigReader::ReadEndOfText() {
  TokenizerInfo& tokenizer = info_.tokenizer;
  constexpr uint32_t kUsualEnd = 50256;
  STI_ASSIGN_OR_RETURN(tokenizer.sep_id,
                       reader_.Number("eos_token_id", 0, info_.shape.vocabulary - 1, kUsualEnd));
  if (tokenizer.sep_id >= info_.shape.vocabulary)
    return reader_.Bad("no eos_token_id, and no token 50256; mend the file");
  tokenizer.cls_id = tokenizer.pad_id = tokenizer.sep_id;
  return {};
}

Status ConfigReader::ReadActivation() {
  STI_ASSIGN_OR_RETURN(
      const std::string name,
      reader_.String(family_->keys.activation, family_->causal ? "gelu_new" : "gelu"));
  const auto* found =
      std::find_if(std::begin(kActivations), std::end(kActivations),
                   [&](const NamedActivation& known) { return known.name == name; });
  if (found == std::end(kActivations)) {
    return reader_.Unsupported(family_->keys.activation + std::string(" is \"") + name +
                               "\"; supported are gelu, gelu_new, gelu_pytorch_tanh and relu");
  }
  info_.activation = found->activation;
  // Where the family has no key, one that stands there all the same decides nothing.
  const char* key = family_->keys.norm_eps;
  if (key == nullptr) return {};
  if (family_->causal) info_.layer_norm_eps = 1e-5;
  STI_ASSIGN_OR_RETURN(info_.layer_norm_eps, reader_.Real(key, info_.layer_norm_eps));
  if (!(info_.layer_norm_eps > 0 && info_.layer_norm_eps < 1)) {
    return reader_.Bad(std::string(key) + " is not between 0 and 1; mend the file");
  }
  return {};
}

Status ConfigReader::ReadHead() {
  if (embeds_ && family_->input == FamilyInput::kImages) {
    return reader_.Unsupported(
        "a model of images that embeds; only those that label are supported");
  }
  if (embeds_ && family_->causal) {
    return reader_.Unsupported("a model that continues texts, as one that embeds; not supported");
  }
  if (embeds_) {
    info_.head = *embeds_;
    info_.pooler = PoolerActivation::kNone;
    info_.shape.has_pooler = false;
    return {};
  }
  STI_ASSIGN_OR_RETURN(info_.head, NamedHead());
  if (!info_.continues_texts()) STI_RETURN_IF_ERROR(ReadLabels());
  if (info_.labels_tokens() || info_.continues_texts()) {
    info_.pooler = PoolerActivation::kNone;
    info_.shape.has_pooler = false;
    return {};
  }
  info_.pooler = family_->pooler;
  info_.shape.has_pooler = info_.pooler != PoolerActivation::kNone;
  return ReadProblem();
}

Status ConfigReader::ReadLabels() {
  if (const Json* names = reader_.Find("id2label")) {
    STI_RETURN_IF_ERROR(ReadLabelNames(*names));
  } else {
    STI_ASSIGN_OR_RETURN(const uint32_t count, reader_.Number("num_labels", 1, kMaxLabels, 2));
    for (uint32_t i = 0; i < count; ++i) info_.labels.push_back("LABEL_" + std::to_string(i));
  }
  info_.shape.labels = static_cast<uint32_t>(info_.labels.size());
  return {};
}

Status ConfigReader::ReadLabelNames(const Json& names) {
  if (!names.is_object() || names.empty() || names.size() > kMaxLabels) {
    return reader_.Bad("id2label is not an object of 1 to " + std::to_string(kMaxLabels) +
                       " labels; mend the file");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const auto name = names.find(std::to_string(i));
    if (name == names.end()) {
      return reader_.Bad("id2label has no name for label " + std::to_string(i) +
                         "; number the labels from 0 without gaps");
    }
    if (!name->is_string() && !name->is_number()) {
      return reader_.Bad("id2label: the name of label " + std::to_string(i) +
                         " is neither text nor a number; give each label a name");
    }
    // A number is a name too: ratings are called 0, 1, 2.
    info_.labels.push_back(name->is_string() ? name->get<std::string>() : name->dump());
  }
  const std::string problem = ProblemOfLabels(info_.labels);
  if (!problem.empty()) {
    return reader_.Bad("id2label: " + problem +
                       "; give each label a name of its own, in one line of text");
  }
  return {};
}

Status ConfigReader::ReadProblem() {
  STI_ASSIGN_OR_RETURN(const std::string problem, reader_.String("problem_type", ""));
  if (problem == "regression") {
    return reader_.Unsupported("problem_type is \"regression\"; only classifiers are supported");
  }
  const bool several = problem == "multi_label_classification";
  if (!several && !problem.empty() && problem != "single_label_classification") {
    return reader_.Unsupported("problem_type is \"" + problem +
                               "\"; supported are single_label_classification and "
                               "multi_label_classification");
  }
  // One logit, as cross-encoders have it, says yes or no: it is a label that applies or does not.
  if (several || info_.shape.labels == 1) info_.problem = Problem::kMultiLabel;
  return {};
}

Status ConfigReader::ReadElastic() {
  const Json* elastic = reader_.Find("elastic");
  if (elastic == nullptr) {
    for (uint32_t depth = 1; depth <= info_.shape.layers; ++depth) {
      info_.depth_layers.push_back(FirstLayers(depth));
    }
    return {};
  }
  const Json* rows = nullptr;
  if (elastic->is_object() && elastic->contains("depth_layers")) rows = &(*elastic)["depth_layers"];
  if (rows == nullptr || !rows->is_array() || rows->size() != info_.shape.layers) {
    return reader_.Bad("elastic.depth_layers is not a list of " +
                       std::to_string(info_.shape.layers) + " rows, one a depth; mend the file");
  }
  STI_RETURN_IF_ERROR(ReadDepthLayers(*rows));
  STI_ASSIGN_OR_RETURN(info_.min_depth, ReadLeast(*elastic, "min_depth", info_.shape.layers));
  STI_ASSIGN_OR_RETURN(info_.min_width, ReadLeast(*elastic, "min_width", info_.shape.width));
  info_.elastic = true;
  if (elastic->contains("trained")) {
    const Json& trained = (*elastic)["trained"];
    if (!trained.is_boolean())
      return reader_.Bad("elastic.trained is not true or false; mend the file");
    info_.elastic = trained.get<bool>();
    if (!info_.elastic) info_.min_depth = info_.min_width = 1;
  }
  return {};
}

// Returns the least depth or width of `elastic` that was trained; 1 if it does not say.
Result<uint32_t> ConfigReader::ReadLeast(const Json& elastic, const char* key, uint32_t most) {
  if (!elastic.contains(key)) return 1;
  const Json& least = elastic[key];
  const uint64_t value = least.is_number_unsigned() ? least.get<uint64_t>() : 0;
  if (value < 1 || value > most) {
    return reader_.Bad("elastic." + std::string(key) + " is not a whole number from 1 to " +
                       std::to_string(most) + "; mend the file");
  }
  return static_cast<uint32_t>(value);
}

Status ConfigReader::ReadDepthLayers(const Json& rows) {
  for (const Json& row : rows) {
    const auto depth = static_cast<uint32_t>(info_.depth_layers.size() + 1);
    STI_ASSIGN_OR_RETURN(auto layers, ReadDepthRow(row, depth));
    info_.depth_layers.push_back(std::move(layers));
  }
  return {};
}

Result<std::vector<uint32_t>> ConfigReader::ReadDepthRow(const Json& row, uint32_t depth) const {
  const Error bad = reader_.Bad("elastic.depth_layers row " + std::to_string(depth) + " is not " +
                                std::to_string(depth) + " ascending layer indexes below " +
                                std::to_string(info_.shape.layers) + "; mend the file");
  if (!row.is_array() || row.size() != depth) return bad;
  std::vector<uint32_t> layers;
  for (const Json& value : row) {
    if (!value.is_number_unsigned()) return bad;
    // A number that is too large for a layer stays too large.
    layers.push_back(static_cast<uint32_t>(std::min<uint64_t>(value.get<uint64_t>(), UINT32_MAX)));
  }
  if (!IsDepthRow(layers, depth, info_.shape.layers)) return bad;
  return layers;
}

}  // namespace

Result<ModelInfo> ReadModelConfig(const std::string& path,
                                  const std::optional<HeadTraits>& embeds) {
  STI_ASSIGN_OR_RETURN(const Json config, ReadJsonFile(path));
  return ConfigReader(path, config, embeds).Read();
}

}  // namespace sti
