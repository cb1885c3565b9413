// make-model: a random BERT classifier of any shape, as a model folder, to measure with.
//
// Weights are N(0, 0.04^2), one in 40 of 2.2 times that deviation, stored as fp16: 0.55 % lie
// beyond three deviations and 0.011 % beyond six, as in fine-tuned models (clinc150-minilm-6x12:
// 0.60 and 0.011 % of a channel's). The file is written as it is made, so that memory does not
// depend on the shape, and the same options give the same bytes.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "base/half.h"
#include "common/cli.h"
#include "common/parse.h"
#include "common/tool.h"
#include "support/random.h"

namespace sti {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDeviation = 0.04;
constexpr uint64_t kWideOneIn = 40;
constexpr double kWideFactor = 2.2;

struct Options {
  std::string folder;
  sti::Submodel shards{12, 12};  ///< layers, heads
  uint32_t hidden = 768;
  uint32_t ffn = 3072;
  uint32_t vocabulary = 30522;
  uint32_t positions = 512;
  uint32_t labels = 2;
  uint32_t seed = 1;
};

struct Tensor {
  std::string name;
  std::vector<uint64_t> shape;
  double mean = 0;
  [[nodiscard]] uint64_t count() const {
    uint64_t product = 1;
    for (uint64_t size : shape) product *= size;
    return product;
  }
};

void AddLinear(const std::string& name, uint64_t outs, uint64_t ins, std::vector<Tensor>& tensors) {
  tensors.push_back({name + ".weight", {outs, ins}});
  tensors.push_back({name + ".bias", {outs}});
}

void AddNorm(const std::string& name, uint64_t size, std::vector<Tensor>& tensors) {
  tensors.push_back({name + ".weight", {size}, 1.0});
  tensors.push_back({name + ".bias", {size}});
}

std::vector<Tensor> Tensors(const Options& o) {
  std::vector<Tensor> tensors;
  const std::string embeddings = "bert.embeddings.";
  tensors.push_back({embeddings + "word_embeddings.weight", {o.vocabulary, o.hidden}});
  tensors.push_back({embeddings + "position_embeddings.weight", {o.positions, o.hidden}});
  tensors.push_back({embeddings + "token_type_embeddings.weight", {2, o.hidden}});
  AddNorm(embeddings + "LayerNorm", o.hidden, tensors);
  for (uint32_t layer = 0; layer < o.shards.depth; ++layer) {
    const std::string base = "bert.encoder.layer." + std::to_string(layer) + ".";
    for (const char* part : {"query", "key", "value"}) {
      AddLinear(base + "attention.self." + part, o.hidden, o.hidden, tensors);
    }
    AddLinear(base + "attention.output.dense", o.hidden, o.hidden, tensors);
    AddNorm(base + "attention.output.LayerNorm", o.hidden, tensors);
    AddLinear(base + "intermediate.dense", o.ffn, o.hidden, tensors);
    AddLinear(base + "output.dense", o.hidden, o.ffn, tensors);
    AddNorm(base + "output.LayerNorm", o.hidden, tensors);
  }
  AddLinear("bert.pooler.dense", o.hidden, o.hidden, tensors);
  AddLinear("classifier", o.labels, o.hidden, tensors);
  return tensors;
}

// Letters, so that any English text has tokens, then random words and pieces.
std::vector<std::string> Tokens(const Options& o) {
  std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "'", ".", ",", "?"};
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    tokens.emplace_back(1, letter);
    tokens.push_back(std::string("##") + letter);
  }
  for (char digit = '0'; digit <= '9'; ++digit) {
    tokens.emplace_back(1, digit);
    tokens.push_back(std::string("##") + digit);
  }
  std::unordered_set<std::string> seen(tokens.begin(), tokens.end());
  TestRandom random(o.seed);
  while (tokens.size() < o.vocabulary) {
    std::string token = random.Below(4) == 0 ? "##" : "";
    const uint64_t length = 2 + random.Below(7);
    for (uint64_t i = 0; i < length; ++i) token += static_cast<char>('a' + random.Below(26));
    if (seen.insert(token).second) tokens.push_back(token);
  }
  tokens.resize(o.vocabulary);
  return tokens;
}

std::string Config(const Options& o) {
  Json depths = Json::array();
  for (uint32_t depth = 1; depth <= o.shards.depth; ++depth) {
    Json row = Json::array();
    for (uint32_t i = 1; i <= depth; ++i) row.push_back(i * o.shards.depth / depth - 1);
    depths.push_back(row);
  }
  Json config = {{"architectures", {"BertForSequenceClassification"}},
                 {"model_type", "bert"},
                 {"hidden_size", o.hidden},
                 {"intermediate_size", o.ffn},
                 {"num_hidden_layers", o.shards.depth},
                 {"num_attention_heads", o.shards.width},
                 {"vocab_size", o.vocabulary},
                 {"max_position_embeddings", o.positions},
                 {"type_vocab_size", 2},
                 {"hidden_act", "gelu"},
                 {"layer_norm_eps", 1e-12},
                 {"pad_token_id", 0}};
  for (uint32_t i = 0; i < o.labels; ++i) {
    config["id2label"][std::to_string(i)] = "label_" + std::to_string(i);
  }
  config["elastic"] = {{"depth_layers", depths}, {"min_width", 1}};
  return config.dump(1) + "\n";
}

std::string Header(const std::vector<Tensor>& tensors) {
  Json header = Json::object();
  uint64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    const uint64_t end = begin + tensor.count() * 2;
    header[tensor.name] = {
        {"dtype", "F16"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof(size)) + text;
}

void WriteTensor(const Tensor& tensor, TestRandom& random, std::ofstream& file) {
  std::vector<uint16_t> block;
  for (uint64_t left = tensor.count(); left > 0; left -= block.size()) {
    block.resize(std::min<uint64_t>(left, 1U << 16));
    for (uint16_t& half : block) {
      const double factor = random.Below(kWideOneIn) == 0 ? kWideFactor : 1.0;
      const double value = tensor.mean + random.Normal() * kDeviation * factor;
      half = FloatToHalf(static_cast<float>(value));
    }
    file.write(reinterpret_cast<const char*>(block.data()),
               static_cast<std::streamsize>(block.size() * sizeof(uint16_t)));
  }
}

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return MachineError(path + ": cannot write");
  return {};
}

Result<int> Run(const Tool& tool, const Options& o) {
  std::error_code failed;
  std::filesystem::create_directories(o.folder, failed);
  if (failed) return MachineError(o.folder + ": cannot create");
  std::string vocabulary;
  for (const std::string& token : Tokens(o)) vocabulary += token + "\n";
  STI_RETURN_IF_ERROR(WriteText(o.folder + "/vocab.txt", vocabulary));
  STI_RETURN_IF_ERROR(WriteText(o.folder + "/config.json", Config(o)));
  STI_RETURN_IF_ERROR(
      WriteText(o.folder + "/tokenizer_config.json",
                "{\"do_lower_case\": true, \"tokenizer_class\": \"BertTokenizer\"}\n"));
  const std::vector<Tensor> tensors = Tensors(o);
  const std::string path = o.folder + "/model.safetensors";
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << Header(tensors);
  TestRandom random(o.seed);
  const ProgressSink progress = tool.Progress("writing");
  for (size_t i = 0; i < tensors.size() && file; ++i) {
    WriteTensor(tensors[i], random, file);
    if (progress) progress(i + 1, tensors.size());
  }
  file.close();
  if (!file) return MachineError(path + ": cannot write");
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  sti::Tool tool("make-model",
                 "Writes a random BERT classifier as a model folder. Default: BERT-base.",
                 "make-model --shards 24x16 --hidden 1024 --ffn 4096 bert-large/");
  sti::Options o;
  CLI::App& app = tool.app();
  app.add_option("FOLDER", o.folder, "created if missing; files in it are replaced")->required();
  sti::AddParsed(app, "--shards", o.shards, sti::kSubmodel, "layers x heads [12x12]");
  app.add_option("--hidden", o.hidden, "a multiple of heads")->capture_default_str();
  app.add_option("--ffn", o.ffn, "a multiple of heads")->capture_default_str();
  app.add_option("--vocabulary", o.vocabulary, "tokens")
      ->check(CLI::Range(128, 1 << 22))
      ->capture_default_str();
  app.add_option("--positions", o.positions, "longest input")->capture_default_str();
  app.add_option("--labels", o.labels, "classes")->capture_default_str();
  app.add_option("--seed", o.seed, "of all numbers")->capture_default_str();
  return tool.Main(argc, argv, [&] { return sti::Run(tool, o); });
}
