// make-model: a random classifier of any family and shape, as a model folder, to measure with.
//
// Weights are N(0, 0.04^2), one in 40 of 2.2 times that deviation: 0.55 % lie
// beyond three deviations and 0.011 % beyond six, as in fine-tuned models (clinc150-minilm-6x12:
// 0.60 and 0.011 % of a channel's). The file is written as it is made, so that memory does not
// depend on the shape, and the same options give the same bytes.
#include <bit>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "base/atomic_file.h"
#include "base/half.h"
#include "base/little_endian.h"
#include "base/utf8.h"
#include "common/cli.h"
#include "common/parse.h"
#include "common/tool.h"
#include "import/model_config.h"
#include "import/preprocessor_file.h"
#include "import/safetensors.h"
#include "network/families.h"
#include "network/tensors.h"
#include "support/random.h"
#include "text/byte_bpe.h"

namespace sti {
namespace {

constexpr double kDeviation = 0.04;
constexpr uint64_t kWideOneIn = 40;
constexpr double kWideFactor = 2.2;

struct Options {
  std::string folder;
  const Family* family = FindFamily("bert");
  DataType type = DataType::kF16;
  sti::Submodel shards{12, 12};  ///< layers, heads
  uint32_t hidden = 768;
  uint32_t ffn = 3072;
  uint32_t vocabulary = 30522;
  uint32_t positions = 512;
  uint32_t image_size = 224;
  uint32_t patch = 16;
  uint32_t labels = 2;
  uint32_t seed = 1;
};

struct Tensor {
  TensorPlan plan;
  double mean = 0;
  [[nodiscard]] uint64_t count() const {
    uint64_t product = 1;
    for (uint64_t size : plan.shape) product *= size;
    return product;
  }
};

ModelInfo InfoOf(const Options& o) {
  ModelInfo info;
  ModelShape& shape = info.shape;
  info.architecture = o.family->architecture;
  info.data_type = o.type;
  info.pooler = o.family->pooler;
  shape.layers = o.shards.depth;
  shape.width = o.shards.width;
  shape.hidden = o.hidden;
  shape.ffn = o.ffn;
  shape.labels = o.labels;
  shape.norm_before = o.family->norm_before;
  if (o.family->input == FamilyInput::kImages) {
    shape.image = ImageShape{o.image_size, o.patch, 3};
    shape.max_positions = shape.image->patches() + 1;
    shape.has_pooler = false;
    info.pixels = {{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
  } else {
    shape.vocabulary = o.vocabulary;
    shape.max_positions = o.positions;
    shape.token_types = 2;
  }
  if (o.family->causal) {
    shape.causal = true;
    shape.token_types = 0;
    shape.has_pooler = false;
    shape.labels = 0;
    info.head = HeadTraits::OfNextToken();
    info.activation = Activation::kGeluTanh;
    info.layer_norm_eps = 1e-5;
    info.tokenizer.kind = TokenizerKind::kByteBpe;
    info.tokenizer.has_frame = false;
    info.tokenizer.sep_id = info.tokenizer.unknown_id = o.vocabulary - 1;
  }
  for (uint32_t i = 0; i < shape.labels; ++i) info.labels.push_back("label_" + std::to_string(i));
  // Depths of layers that lie evenly, as those of elastic models do; images have no submodels yet.
  info.elastic = info.has_text() && !o.family->causal;
  for (uint32_t depth = 1; depth <= shape.layers; ++depth) {
    std::vector<uint32_t>& layers = info.depth_layers.emplace_back();
    for (uint32_t i = 1; i <= depth; ++i)
      layers.push_back(info.elastic ? i * shape.layers / depth - 1 : i - 1);
  }
  if (!info.elastic) info.min_depth = shape.layers;
  if (!info.elastic) info.min_width = shape.width;
  return info;
}

bool IsNormWeight(TensorRole role) {
  using enum TensorRole;
  return role == kAttentionNormWeight || role == kOutputNormWeight ||
         role == kEmbeddingNormWeight || role == kFinalNormWeight;
}

// All tensors of a network of this shape.
std::vector<Tensor> Tensors(const ModelInfo& info) {
  std::vector<Tensor> tensors;
  const auto add = [&](Home home, uint32_t layer) {
    for (const TensorSpec& tensor : TensorsAt(home, info.shape)) {
      if (PlaceOf(tensor.role, FamilyOf(info)).part > 0) continue;
      tensors.push_back({{NameOf(tensor.role, layer, FamilyOf(info)), info.data_type,
                          StoredShapeOf(tensor, info.shape, FamilyOf(info))},
                         IsNormWeight(tensor.role) ? 1.0 : 0.0});
    }
  };
  add(Home::kRows, 0);
  add(Home::kEmbedding, 0);
  for (uint32_t layer = 0; layer < info.shape.layers; ++layer) {
    add(Home::kShard, layer);
    add(Home::kLayer, layer);
  }
  add(Home::kHead, 0);
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

Status WriteTensor(const Tensor& tensor, TestRandom& random, SafetensorsWriter& writer) {
  std::vector<uint8_t> block;
  const bool halves = tensor.plan.type == DataType::kF16;
  for (uint64_t left = tensor.count(); left > 0;) {
    const uint64_t values = std::min<uint64_t>(left, 1U << 16);
    block.resize(values * (halves ? 2 : 4));
    for (uint64_t i = 0; i < values; ++i) {
      const double factor = random.Below(kWideOneIn) == 0 ? kWideFactor : 1.0;
      const auto value = static_cast<float>(tensor.mean + random.Normal() * kDeviation * factor);
      if (halves) {
        StoreLittle(&block[2 * i], FloatToHalf(value));
      } else {
        StoreLittle(&block[4 * i], std::bit_cast<uint32_t>(value));
      }
    }
    STI_RETURN_IF_ERROR(writer.Append(block));
    left -= values;
  }
  return {};
}

Status WriteText(const std::string& path, const std::string& text) {
  return WriteFileAtomically(path, AsBytes(text));
}

// Byte-level BPE: a token a byte, then those of merges, each of two tokens that are there, and the
// one that ends texts.
Status WriteByteBpe(const Options& o, const ModelInfo& info) {
  std::vector<std::string> tokens;
  for (uint32_t byte = 0; byte < 256; ++byte)
    tokens.push_back(ByteSpelling(static_cast<uint8_t>(byte)));
  std::unordered_set<std::string> seen(tokens.begin(), tokens.end());
  TestRandom random(o.seed);
  std::string merges = "#version: 0.2\n";
  while (tokens.size() + 1 < o.vocabulary) {
    // Letters and short tokens of them, as merges of a text begin.
    const auto draw = [&] {
      const uint64_t from = tokens.size() > 300 && random.Below(2) == 0 ? 256 : 'a';
      const uint64_t count = from == 256 ? std::min<uint64_t>(tokens.size() - 256, 2000) : 26;
      return tokens[from + random.Below(count)];
    };
    const std::string left = draw();
    const std::string right = draw();
    if (left.size() + right.size() > 12 || !seen.insert(left + right).second) continue;
    tokens.push_back(left + right);
    merges += left + " " + right + "\n";
  }
  tokens.emplace_back("<|endoftext|>");
  std::string vocabulary;
  for (const std::string& token : tokens) vocabulary += token + "\n";
  STI_RETURN_IF_ERROR(WriteText(o.folder + "/vocab.json", VocabularyJsonText(vocabulary)));
  STI_RETURN_IF_ERROR(WriteText(o.folder + "/merges.txt", merges));
  return WriteText(o.folder + "/tokenizer_config.json", TokenizerConfigText(info, vocabulary));
}

// Writes the tokenizer of a model of texts, or how one of images scales pixels.
Status WriteInputFiles(const Options& o, const ModelInfo& info) {
  if (!info.has_text()) {
    return WriteText(o.folder + "/preprocessor_config.json",
                     PreprocessorFileText(info.pixels, info.shape.image->size));
  }
  if (o.family->causal) return WriteByteBpe(o, info);
  std::string vocabulary;
  for (const std::string& token : Tokens(o)) vocabulary += token + "\n";
  STI_RETURN_IF_ERROR(WriteText(o.folder + "/vocab.txt", vocabulary));
  return WriteText(o.folder + "/tokenizer_config.json",
                   "{\"do_lower_case\": true, \"tokenizer_class\": \"BertTokenizer\"}\n");
}

Result<int> Run(const Tool& tool, const Options& o) {
  if (o.shards.width == 0 || o.hidden % o.shards.width != 0 || o.ffn % o.shards.width != 0)
    return UsageError("--hidden and --ffn are multiples of the heads");
  if (o.patch == 0 || o.image_size % o.patch != 0)
    return UsageError("--image-size is a multiple of --patch");
  if (o.family->causal && o.vocabulary < 300)
    return UsageError("--vocabulary of gpt2 has a token for each byte, and is at least 300");
  std::error_code failed;
  std::filesystem::create_directories(o.folder, failed);
  if (failed) return MachineError(o.folder + ": cannot create");
  const ModelInfo info = InfoOf(o);
  STI_RETURN_IF_ERROR(WriteInputFiles(o, info));
  STI_RETURN_IF_ERROR(WriteText(o.folder + "/config.json", ModelConfigText(info)));
  const std::vector<Tensor> tensors = Tensors(info);
  std::vector<TensorPlan> plans;
  for (const Tensor& tensor : tensors) plans.push_back(tensor.plan);
  STI_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                       SafetensorsWriter::Create(o.folder + "/model.safetensors", plans));
  TestRandom random(o.seed);
  const ProgressSink progress = tool.Progress("writing");
  for (size_t i = 0; i < tensors.size(); ++i) {
    STI_RETURN_IF_ERROR(WriteTensor(tensors[i], random, writer));
    if (progress) progress(i + 1, tensors.size());
  }
  STI_RETURN_IF_ERROR(writer.Finish());
  return 0;
}

}  // namespace
}  // namespace sti

int main(int argc, char** argv) {
  const sti::Choice<const sti::Family*> kFamilies[] = {{"bert", sti::FindFamily("bert")},
                                                       {"vit", sti::FindFamily("vit")},
                                                       {"gpt2", sti::FindFamily("gpt2")}};
  constexpr sti::Choice<sti::DataType> kTypes[] = {{"f16", sti::DataType::kF16},
                                                   {"f32", sti::DataType::kF32}};
  sti::Tool tool("make-model", "Writes a random classifier as a model folder. Default: BERT-base.",
                 "make-model --shards 24x16 --hidden 1024 --ffn 4096 bert-large/");
  sti::Options o;
  CLI::App& app = tool.app();
  app.add_option("FOLDER", o.folder, "created if missing; files in it are replaced")->required();
  sti::AddParsed(app, "--shards", o.shards, sti::kSubmodel, "layers x heads [12x12]");
  sti::AddChoice(app, "--family", o.family, kFamilies, "of networks [bert]");
  sti::AddChoice(app, "--type", o.type, kTypes, "of the weights [f16]");
  app.add_option("--hidden", o.hidden, "a multiple of heads")->capture_default_str();
  app.add_option("--ffn", o.ffn, "a multiple of heads")->capture_default_str();
  app.add_option("--vocabulary", o.vocabulary, "tokens")
      ->check(CLI::Range(128, 1 << 22))
      ->capture_default_str();
  app.add_option("--positions", o.positions, "longest input")->capture_default_str();
  app.add_option("--image-size", o.image_size, "of vit: pixels of a side")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--patch", o.patch, "of vit: pixels of a patch's side")->capture_default_str();
  app.add_option("--labels", o.labels, "classes")->capture_default_str();
  app.add_option("--seed", o.seed, "of all numbers")->capture_default_str();
  return tool.Main(argc, argv, [&] { return sti::Run(tool, o); });
}
