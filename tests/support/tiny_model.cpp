#include "tiny_model.h"

#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/half.h"

namespace sti {
namespace {

// The standard distributions differ between standard libraries; these numbers do not.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 0xD1B54A32D192ED03u) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

  /// Twelve uniforms: mean 0, deviation 1, within +-6. Sums only, so exact everywhere.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

 private:
  uint64_t state_;
};

class Builder {
 public:
  explicit Builder(const TinyModelOptions& options)
      : options_(options), random_(options.seed), deviation_(0.15) {}

  void Matrix(const std::string& name, uint64_t rows, uint64_t columns) {
    Add(name, {rows, columns}, rows * columns, 0.0);
  }
  void Bias(const std::string& name, uint64_t size) { Add(name, {size}, size, 0.0); }
  void Linear(const std::string& name, uint64_t rows, uint64_t columns) {
    Matrix(name + ".weight", rows, columns);
    Bias(name + ".bias", rows);
  }
  void Norm(const std::string& name) {
    const bool old = options_.old_norm_names;
    Add(name + (old ? ".gamma" : ".weight"), {options_.hidden}, options_.hidden, 1.0);
    Add(name + (old ? ".beta" : ".bias"), {options_.hidden}, options_.hidden, 0.0);
  }
  std::vector<TensorToWrite> Take() { return std::move(tensors_); }

 private:
  void Add(const std::string& name, std::vector<uint64_t> shape, uint64_t count, double mean) {
    TensorToWrite tensor;
    tensor.name = name;
    tensor.shape = std::move(shape);
    tensor.dtype = options_.data_type == DataType::kF32   ? "F32"
                   : options_.data_type == DataType::kF16 ? "F16"
                                                          : "BF16";
    tensor.bytes.reserve(count * BytesOf(options_.data_type));
    for (uint64_t i = 0; i < count; ++i) {
      const bool outlier = random_.Next() % 500 == 0;
      const double value = mean + random_.Normal() * deviation_ * (outlier ? 6.0 : 1.0);
      Append(static_cast<float>(value), &tensor.bytes);
    }
    tensors_.push_back(std::move(tensor));
  }

  void Append(float value, std::vector<uint8_t>* bytes) const {
    uint32_t bits = std::bit_cast<uint32_t>(value);
    if (options_.data_type == DataType::kF16) bits = FloatToHalf(value);
    if (options_.data_type == DataType::kBF16) bits = FloatToBFloat(value);
    for (uint32_t i = 0; i < BytesOf(options_.data_type); ++i) {
      bytes->push_back(static_cast<uint8_t>(bits >> (8 * i)));
    }
  }

  const TinyModelOptions& options_;
  Random random_;
  double deviation_;
  std::vector<TensorToWrite> tensors_;
};

void AddLayer(const TinyModelOptions& options, uint32_t layer, Builder* builder) {
  const std::string base = options.prefix + "encoder.layer." + std::to_string(layer) + ".";
  const uint64_t hidden = options.hidden;
  for (const char* part : {"query", "key", "value"}) {
    builder->Linear(base + "attention.self." + part, hidden, hidden);
  }
  builder->Linear(base + "attention.output.dense", hidden, hidden);
  builder->Norm(base + "attention.output.LayerNorm");
  builder->Linear(base + "intermediate.dense", options.ffn, hidden);
  builder->Linear(base + "output.dense", hidden, options.ffn);
  builder->Norm(base + "output.LayerNorm");
}

std::vector<std::string> AllTokens(const TinyModelOptions& options) {
  std::vector<std::string> tokens = TinyVocabulary();
  for (uint32_t i = 0; i < options.extra_tokens; ++i) {
    tokens.push_back("[unused" + std::to_string(i) + "]");
  }
  return tokens;
}

/// Rows that spread each depth evenly and always end with the last layer.
nlohmann::json DepthLayers(uint32_t layers) {
  nlohmann::json rows = nlohmann::json::array();
  for (uint32_t depth = 1; depth <= layers; ++depth) {
    nlohmann::json row = nlohmann::json::array();
    for (uint32_t i = 1; i <= depth; ++i) row.push_back(i * layers / depth - 1);
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

std::vector<std::string> TinyVocabulary() {
  return {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the",  "a",    "movie", "film", "is",
          "was",   "good",  "bad",   "great", "not",    "very", "and",  "but",   "i",    "it",
          "play",  "turn",  "on",    "off",   "light",  "hous", "##e",  "##s",   "##ed", "##ing",
          "##er",  "##ly",  "!",     ".",     ",",      "?",    "'",    "[",     "]",    "1",
          "##2",   "cls",   "sep",   "x",     "##x",    "##y",  "##qua"};
}

std::vector<TensorToWrite> TinyTensors(const TinyModelOptions& options) {
  Builder builder(options);
  const std::string base = options.prefix + "embeddings.";
  builder.Matrix(base + "word_embeddings.weight", AllTokens(options).size(), options.hidden);
  builder.Matrix(base + "position_embeddings.weight", options.max_positions, options.hidden);
  builder.Matrix(base + "token_type_embeddings.weight", options.token_types, options.hidden);
  builder.Norm(base + "LayerNorm");
  for (uint32_t layer = 0; layer < options.layers; ++layer) AddLayer(options, layer, &builder);
  builder.Linear(options.prefix + "pooler.dense", options.hidden, options.hidden);
  builder.Linear("classifier", options.labels, options.hidden);
  return builder.Take();
}

std::string TinyConfig(const TinyModelOptions& options) {
  nlohmann::ordered_json config = {{"architectures", {"BertForSequenceClassification"}},
                                   {"model_type", "bert"},
                                   {"hidden_size", options.hidden},
                                   {"intermediate_size", options.ffn},
                                   {"num_hidden_layers", options.layers},
                                   {"num_attention_heads", options.heads},
                                   {"vocab_size", AllTokens(options).size()},
                                   {"max_position_embeddings", options.max_positions},
                                   {"type_vocab_size", options.token_types},
                                   {"hidden_act", options.activation},
                                   {"layer_norm_eps", 1e-12},
                                   {"pad_token_id", 0},
                                   {"position_embedding_type", "absolute"}};
  config["id2label"] = nlohmann::ordered_json::object();
  for (uint32_t i = 0; i < options.labels; ++i) {
    config["id2label"][std::to_string(i)] = "label_" + std::to_string(i);
  }
  if (options.elastic) {
    config["elastic"] = {{"depth_layers", DepthLayers(options.layers)},
                         {"head_order", "importance"},
                         {"ffn_order", "importance"},
                         {"min_width", options.min_width}};
    if (options.min_depth > 1) config["elastic"]["min_depth"] = options.min_depth;
  }
  return config.dump(1) + "\n";
}

Status WriteTinyModel(const std::string& dir, const TinyModelOptions& options) {
  std::error_code failed;
  std::filesystem::create_directories(dir, failed);
  if (failed) return MachineError(dir + ": cannot create");
  std::string vocabulary;
  for (const std::string& token : AllTokens(options)) vocabulary += token + "\n";
  STI_RETURN_IF_ERROR(WriteBytes(dir + "/config.json", TinyConfig(options)));
  STI_RETURN_IF_ERROR(WriteBytes(dir + "/vocab.txt", vocabulary));
  STI_RETURN_IF_ERROR(WriteBytes(dir + "/tokenizer_config.json",
                                 "{\"do_lower_case\": true, \"tokenizer_class\": "
                                 "\"BertTokenizer\"}\n"));
  return WriteSafetensors(dir + "/model.safetensors", TinyTensors(options));
}

Status ZeroLastRows(const std::string& dir, const TinyModelOptions& options) {
  std::vector<TensorToWrite> tensors = TinyTensors(options);
  const std::string norm = "layer." + std::to_string(options.layers - 1) + ".output.LayerNorm.";
  for (TensorToWrite& tensor : tensors) {
    if (tensor.name.find(norm) != std::string::npos) std::ranges::fill(tensor.bytes, 0);
  }
  return WriteSafetensors(dir + "/model.safetensors", tensors);
}

Status AddSentenceModules(const std::string& dir, const SentenceOptions& options) {
  const auto module = [](const char* index, const char* path, const char* name) {
    return std::string(R"({"idx": )") + index + R"(, "name": ")" + index + R"(", "path": ")" +
           path + R"(", "type": "sentence_transformers.models.)" + name + "\"}";
  };
  std::string modules =
      "[" + module("0", "", "Transformer") + ", " + module("1", "1_Pooling", "Pooling");
  if (options.unit_length) modules += ", " + module("2", "2_Normalize", "Normalize");
  std::error_code failed;
  std::filesystem::create_directories(dir + "/1_Pooling", failed);
  std::string pooling = R"({"word_embedding_dimension": 16)";
  for (const auto& [name, key] : {std::pair("cls", "cls_token"), std::pair("mean", "mean_tokens"),
                                  std::pair("max", "max_tokens")}) {
    pooling += std::string(R"(, "pooling_mode_)") + key +
               (options.pooling == name ? "\": true" : "\": false");
  }
  STI_RETURN_IF_ERROR(WriteBytes(dir + "/modules.json", modules + "]"));
  STI_RETURN_IF_ERROR(WriteBytes(dir + "/1_Pooling/config.json", pooling + "}"));
  return WriteBytes(dir + "/sentence_bert_config.json", R"({"max_seq_length": )" +
                                                            std::to_string(options.max_length) +
                                                            R"(, "do_lower_case": false})");
}

}  // namespace sti
