#include <algorithm>
#include <filesystem>

#include "base/utf8.h"
#include "fuzz/scratch_file.h"
#include "fuzz/targets.h"
#include "import/model_config.h"
#include "import/sentence_folder.h"
#include "import/tokenizer_files.h"
#include "import/weight_file.h"
#include "network/families.h"
#include "support/offset_rules.h"
#include "support/torch_writer.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"
#include "types/limits.h"

namespace sti::fuzz {
namespace {

constexpr uint32_t kMaxTokens = 1000;

/// A folder of its own for the files of one run.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "sti-fuzz.XXXXXX") {
    Require(::mkdtemp(path_.data()) != nullptr, "a folder for temporary files");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void Put(const std::string& name, Input input) const {
    Require(WriteBytes(path_ + "/" + name, AsText(input)).ok(), "a temporary file");
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void TryWordPiece(const std::string& folder) {
  const auto files = ReadTokenizer(folder, {*FindFamily("bert"), kMaxTokens, 0});
  if (!files.ok()) return RequireDataError(files.error());
  const auto vocabulary = Vocabulary::FromText(files->vocabulary_text);
  Require(vocabulary.ok() && vocabulary->size() <= kMaxTokens, "a vocabulary that fits the model");
  for (const uint32_t id : {files->info.unknown_id, files->info.cls_id, files->info.sep_id}) {
    Require(id < vocabulary->size(), "control tokens are in the vocabulary");
  }
}

void TryByteBpe(const std::string& folder) {
  const auto files = ReadTokenizer(folder, {*FindFamily("roberta"), kMaxTokens, 1});
  if (!files.ok()) return RequireDataError(files.error());
  auto vocabulary = Vocabulary::FromText(files->vocabulary_text);
  Require(vocabulary.ok() && vocabulary->size() <= kMaxTokens, "a vocabulary that fits the model");
  TokenizerInfo info = files->info;
  info.add_prefix_space = true;
  const auto tokenizer = Tokenizer::Create(std::move(*vocabulary), files->merges_text, info);
  Require(tokenizer.ok(), "files that were checked make a tokenizer");
  for (const auto& text : {files->merges_text, std::string("It's 12 \xC3\xA9\xFF  words")}) {
    const Encoding encoding = tokenizer->Encode(text, text, kMaxTokens);
    for (const uint32_t id : encoding.ids) {
      Require(id < tokenizer->vocabulary().size(), "an id is in the vocabulary");
    }
    const std::string problem = ProblemOfOffsets(encoding, text, text);
    Require(problem.empty(), problem.c_str());
  }
}

void CheckWeights(const Result<WeightFile>& tensors) {
  if (!tensors.ok()) return RequireDataError(tensors.error());
  for (const std::string& name : tensors->Names()) {
    const auto tensor = tensors->Find(name);
    Require(tensors->TypeName(name).has_value(), "a tensor has a type");
    if (!tensor) continue;
    const Status finite = CheckFinite(*tensor, "t");
    if (!finite.ok()) RequireDataError(finite.error());
    if (tensor->count() > 0) (void)LoadElement(*tensor, tensor->count() - 1);
  }
}

/// Takes what stands before the first zero byte, and that byte, off the input.
Input TakePart(Input* input) {
  const auto zero = std::find(input->begin(), input->end(), uint8_t{0});
  const auto size = static_cast<size_t>(zero - input->begin());
  const Input part = input->first(size);
  *input = input->subspan(std::min(size + 1, input->size()));
  return part;
}

}  // namespace

void Safetensors(Input input) {
  const ScratchFile file(input);
  CheckWeights(WeightFile::OpenSafetensors(file.path()));
}

// As it is; then as the pickle of an archive with one storage.
void Pickle(Input input) {
  const ScratchFile file(input);
  CheckWeights(WeightFile::OpenTorch(file.path()));
  const std::string archive =
      ZipBytes({{"m/data.pkl", AsText(input)}, {"m/data/0", std::string(64, 'x')}});
  const ScratchFile other(AsBytes(archive));
  CheckWeights(WeightFile::OpenTorch(other.path()));
}

void Config(Input input) {
  const ScratchFile file(input);
  const auto info = ReadModelConfig(file.path());
  if (!info.ok()) return RequireDataError(info.error());
  Require(info->shape.hidden % info->shape.width == 0, "slices are equal");
  Require(info->labels.size() == info->shape.labels, "every label has a name");
  Require(info->depth_layers.size() == info->shape.layers, "every depth has its layers");
}

// modules.json, and the files that it may name, in one folder.
void Sentences(Input input) {
  static const Folder folder;
  folder.Put("modules.json", TakePart(&input));
  folder.Put("config.json", TakePart(&input));
  folder.Put("sentence_bert_config.json", TakePart(&input));
  folder.Put("config_sentence_transformers.json", input);
  const auto log = [](const LogLine& line) {
    Require(IsPrintable(line.what), "a warning is one line of text");
  };
  const auto model = ReadSentenceModel(folder.path(), log);
  if (!model.ok()) {
    // A module may lie in a folder that is not there.
    if (model.error().kind != ErrorKind::kNoSuchFile) RequireDataError(model.error());
    return;
  }
  Require(model->has_value(), "a folder with modules.json is of a sentence model");
  Require((*model)->head.output == HeadOutput::kEmbedding, "it embeds");
  Require((*model)->encoder.starts_with(folder.path()), "its encoder lies in the folder");
  Require((*model)->max_length.value_or(kMinLength) >= kMinLength, "an input has room");
}

void Vocab(Input input) {
  static const Folder folder;
  folder.Put("vocab.txt", input);
  TryWordPiece(folder.path());
  const auto vocabulary = Vocabulary::FromText(AsText(input));
  if (!vocabulary.ok()) return RequireDataError(vocabulary.error());
  for (uint32_t id = 0; id < vocabulary->size(); ++id) {
    const auto found = vocabulary->Find(vocabulary->Token(id));
    Require(found && *found >= id, "a token is found, or its later twin");
  }
}

void TokenizerJson(Input input) {
  static const Folder folder;
  folder.Put("tokenizer.json", TakePart(&input));
  folder.Put("tokenizer_config.json", input);
  TryWordPiece(folder.path());
  TryByteBpe(folder.path());
}

void Bpe(Input input) {
  static const Folder folder;
  folder.Put("vocab.json", TakePart(&input));
  folder.Put("merges.txt", TakePart(&input));
  folder.Put("tokenizer_config.json", input);
  TryByteBpe(folder.path());
}

}  // namespace sti::fuzz
