#include "import/model_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/remedy.h"
#include "import/shard_model.h"
#include "support/safetensors_writer.h"
#include "support/text.h"
#include "support/tiny_model.h"
#include "support/torch_writer.h"

namespace sti {
namespace {

using Json = nlohmann::json;

class ModelFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "model_folder_test." + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Write(const TinyModelOptions& options = {}) {
    ASSERT_TRUE(WriteTinyModel(dir_, options).ok());
  }
  void WriteJson(const std::string& name, const Json& json) {
    ASSERT_TRUE(WriteBytes(dir_ + "/" + name, json.dump()).ok());
  }
  void EditTensors(const std::function<void(std::vector<TensorToWrite>&)>& edit) {
    auto tensors = TinyTensors({});
    edit(tensors);
    ASSERT_TRUE(WriteSafetensors(dir_ + "/model.safetensors", tensors).ok());
  }

  std::string FailureOf(ErrorKind kind = ErrorKind::kDamaged) {
    const auto folder = ModelFolder::Open(dir_);
    EXPECT_FALSE(folder.ok());
    if (folder.ok()) return "";
    EXPECT_EQ(folder.error().kind, kind) << folder.error().Message();
    EXPECT_NE(folder.error().Message().find(dir_), std::string::npos);
    EXPECT_EQ(folder.error().Message().find('\n'), std::string::npos);
    return folder.error().Message();
  }

  std::string dir_;
};

TensorToWrite& Named(std::vector<TensorToWrite>& tensors, const std::string& name) {
  return *std::find_if(tensors.begin(), tensors.end(),
                       [&](const TensorToWrite& tensor) { return tensor.name == name; });
}

TEST_F(ModelFolderTest, OpensATinyModel) {
  Write();
  const auto folder = ModelFolder::Open(dir_);
  ASSERT_TRUE(folder.ok()) << folder.error().Message();
  const ModelInfo& info = folder->info();
  EXPECT_EQ(info.shape.layers, 2u);
  EXPECT_EQ(info.shape.vocabulary, TinyVocabulary().size());
  EXPECT_EQ(info.data_type, DataType::kF16);
  EXPECT_EQ(info.labels.size(), 3u);
  EXPECT_EQ(info.tokenizer.cls_id, 2u);
  EXPECT_EQ(std::count(folder->vocabulary_text().begin(), folder->vocabulary_text().end(), '\n'),
            std::ssize(TinyVocabulary()));
  const auto tensors = TinyTensors({});
  for (const TensorToWrite& tensor : tensors) {
    if (tensor.name != "bert.encoder.layer.1.output.dense.weight") continue;
    const TensorView view = folder->Tensor(TensorRole::kFfn2Weight, 1);
    EXPECT_EQ(view.shape, (std::vector<uint64_t>{32, 64}));
    EXPECT_TRUE(std::equal(view.bytes.begin(), view.bytes.end(), tensor.bytes.begin()));
    EXPECT_EQ(folder->TensorPath(TensorRole::kFfn2Weight, 1),
              dir_ + "/model.safetensors: tensor " + tensor.name);
  }
}

TEST_F(ModelFolderTest, OpensEveryVariant) {
  TinyModelOptions f32, bf16, ragged, bare, old;
  f32.data_type = DataType::kF32;
  bf16.data_type = DataType::kBF16;
  bf16.elastic = false;
  ragged.hidden = 52;
  ragged.heads = 4;
  ragged.ffn = 60;
  ragged.layers = 3;
  ragged.labels = 5;
  bare.prefix = "";
  old.old_norm_names = true;
  old.extra_tokens = 9;
  for (const TinyModelOptions& options : {f32, bf16, ragged, bare, old}) {
    Write(options);
    const auto folder = ModelFolder::Open(dir_);
    ASSERT_TRUE(folder.ok()) << folder.error().Message();
    EXPECT_EQ(folder->info().data_type, options.data_type);
    EXPECT_EQ(folder->info().elastic, options.elastic);
    EXPECT_EQ(folder->info().depth_layers.size(), options.layers);
    EXPECT_EQ(folder->info().depth_layers.back().size(), options.layers);
    for (const TensorSpec& tensor : kTensors) {
      if (!HasTensor(tensor, folder->info().shape)) continue;
      EXPECT_EQ(folder->Tensor(tensor.role).shape, ShapeOf(tensor, folder->info().shape));
      EXPECT_TRUE(CheckFinite(folder->Tensor(tensor.role), "tensor").ok());
    }
  }
}

TEST_F(ModelFolderTest, OpensThePublishedModels) {
  const std::string models = STI_SOURCE_DIR "/../shared/models/";
  if (!std::filesystem::exists(models)) GTEST_SKIP() << "no ../shared/models beside the source";
  for (const char* name : {"sst2-minilm-12x12", "clinc150-minilm-6x12", "clinc150-tiny-6x12"}) {
    const auto folder = ModelFolder::Open(models + name);
    ASSERT_TRUE(folder.ok()) << folder.error().Message();
    EXPECT_TRUE(folder->info().elastic);
    EXPECT_EQ(folder->info().shape.width, 12u);
    EXPECT_EQ(folder->info().min_width, 2u);
  }
}

TEST_F(ModelFolderTest, NamesAMissingTensor) {
  Write();
  const std::string name = "bert.encoder.layer.1.attention.self.key.bias";
  EditTensors([&](auto& tensors) { Named(tensors, name).name = "x"; });
  EXPECT_TRUE(Contains(FailureOf(), name + " [32] is missing"));
}

TEST_F(ModelFolderTest, NamesAWrongShape) {
  Write();
  EditTensors([](auto& tensors) { Named(tensors, "classifier.weight").shape = {32, 3}; });
  EXPECT_TRUE(Contains(FailureOf(), "classifier.weight: shape [32, 3], expected [3, 32]"));
}

TEST_F(ModelFolderTest, NamesAWrongType) {
  Write();
  EditTensors([](auto& tensors) { Named(tensors, "classifier.bias").dtype = "I16"; });
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kForeign), "classifier.bias: type I16"));
  EditTensors([](auto& tensors) {
    Named(tensors, "bert.encoder.layer.1.output.dense.weight").dtype = "BF16";
  });
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kForeign), "type BF16, but bert.encoder.layer.0"));
  // Only the matrices must agree.
  EditTensors([](auto& tensors) { Named(tensors, "classifier.bias").dtype = "BF16"; });
  EXPECT_TRUE(ModelFolder::Open(dir_).ok());
}

TEST_F(ModelFolderTest, NamesWhatIsMissing) {
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kNoSuchFile), "no config.json"));
  Write();
  std::filesystem::remove(dir_ + "/model.safetensors");
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kNoSuchFile), "no model.safetensors"));
  std::filesystem::remove(dir_ + "/vocab.txt");
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kNoSuchFile), "neither vocab.txt nor tokenizer.json"));
  std::filesystem::remove_all(dir_);
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kNoSuchFile), "no such folder"));
}

// A clone without git-lfs leaves a small text in place of each large file.
TEST_F(ModelFolderTest, KnowsPointersOfGitLfs) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 437955512\n";
  for (const char* name :
       {"config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"}) {
    Write();
    ASSERT_TRUE(WriteBytes(dir_ + "/" + name, pointer).ok());
    EXPECT_EQ(FailureOf(ErrorKind::kForeign),
              dir_ + "/" + name + ": a pointer of git-lfs in place of the file");
    EXPECT_EQ(ModelFolder::Open(dir_).error().remedy, Remedy::kFetchLargeFile);
  }
  Write();
  std::filesystem::rename(dir_ + "/model.safetensors", dir_ + "/pytorch_model.bin");
  ASSERT_TRUE(WriteBytes(dir_ + "/pytorch_model.bin", pointer).ok());
  EXPECT_EQ(ModelFolder::Open(dir_).error().remedy, Remedy::kFetchLargeFile);
}

TEST_F(ModelFolderTest, RefusesAnAdapterAlone) {
  WriteJson("adapter_config.json", {{"peft_type", "LORA"}});
  ASSERT_TRUE(WriteBytes(dir_ + "/adapter_model.safetensors", "x").ok());
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kForeign), "an adapter alone"));
  Write();
  EXPECT_TRUE(ModelFolder::Open(dir_).ok()) << "with the model's weights it is a model";
}

// U+202E turns what follows: a label that looks like another.
TEST_F(ModelFolderTest, WarnsOfLabelsThatAreNotWhatTheySeem) {
  Write();
  const std::string path = dir_ + "/names.txt";
  std::string warned;
  const auto open = [&](const std::string& text) {
    warned.clear();
    EXPECT_TRUE(WriteBytes(path, text).ok());
    const auto log = [&](const LogLine& line) { warned += line.what; };
    EXPECT_TRUE(ModelFolder::Open(dir_, {.labels = path, .log = log}).ok());
    return warned;
  };
  EXPECT_EQ(open("no\nmaybe\nyes\n"), "");
  EXPECT_EQ(open("\u0646\u0645\u06CC\u200C\u062F\u0627\u0646\u0645\nmaybe\nyes\n"), "");
  EXPECT_TRUE(Contains(open("no\n\u202Eon\nyes\n"), "names.txt: the name of label 1 has marks"));
}

TEST_F(ModelFolderTest, TakesLabelsFromAFile) {
  Write();
  const std::string path = dir_ + "/names.txt";
  const auto open = [&](const std::string& text) {
    EXPECT_TRUE(WriteBytes(path, text).ok());
    return ModelFolder::Open(dir_, {.labels = path});
  };
  for (const char* text :
       {"no\nnot sure\nyes\n", "no\r\nnot sure\r\nyes", "\xEF\xBB\xBFno\nnot sure\nyes\n"}) {
    const auto folder = open(text);
    ASSERT_TRUE(folder.ok()) << folder.error().Message();
    EXPECT_EQ(folder->info().labels, (std::vector<std::string>{"no", "not sure", "yes"}));
  }
  const std::pair<const char*, const char*> broken[] = {
      {"no\nyes\n", "2 lines, but the model has 3 labels; name each in a line of its own"},
      {"a\nb\nc\nd\n", "4 lines, but the model has 3 labels; name each in a line of its own"},
      {"", "0 lines, but the model has 3 labels; name each in a line of its own"},
      {"a\n\nb\n", "label 1 is empty; give each label a name of its own"},
      {"a\nb\na\n", "label 2 is that of label 0 again; give each label a name of its own"},
      {"a\nb\n\x1B[2J\n",
       "label 2 is not UTF-8 or has a control character; give each label a name of its own"}};
  for (const auto& [text, words] : broken) {
    const auto folder = open(text);
    ASSERT_FALSE(folder.ok()) << text;
    EXPECT_EQ(folder.error().kind, ErrorKind::kDamaged);
    EXPECT_EQ(folder.error().Message(), path + ": " + words);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(ModelFolder::Open(dir_, {.labels = path}).error().kind, ErrorKind::kNoSuchFile);
}

TEST_F(ModelFolderTest, TakesTheTokenizerOfAnotherFolder) {
  Write();
  const auto whole = ModelFolder::Open(dir_);
  const std::string other = dir_ + "/tokenizer";
  std::filesystem::create_directories(other);
  for (const char* name : {"vocab.txt", "tokenizer_config.json"}) {
    std::filesystem::rename(dir_ + "/" + name, other + "/" + name);
  }
  EXPECT_EQ(ModelFolder::Open(dir_).error().remedy, Remedy::kGiveTokenizer);
  const auto parted = ModelFolder::Open(dir_, {.tokenizer = other});
  ASSERT_TRUE(parted.ok()) << parted.error().Message();
  EXPECT_EQ(parted->vocabulary_text(), whole->vocabulary_text());
  // It counts whole: nothing of the model's own is mixed in.
  ASSERT_TRUE(WriteBytes(dir_ + "/tokenizer_config.json", R"({"do_lower_case": false})").ok());
  EXPECT_TRUE(ModelFolder::Open(dir_, {.tokenizer = other})->info().tokenizer.lowercase);
  EXPECT_EQ(ModelFolder::Open(dir_, {.tokenizer = dir_ + "/none"}).error().Message(),
            dir_ + "/none: no such folder; give the folder of a tokenizer");
}

// Weights that torch.save wrote, whole or in parts, make the same model.
TEST_F(ModelFolderTest, ReadsWhatTorchSaved) {
  Write();
  const auto digest = [&] {
    const auto folder = ModelFolder::Open(dir_);
    EXPECT_TRUE(folder.ok()) << folder.error().Message();
    return folder.ok() ? ModelDigest(*folder, CodebookKind::kGobo).Hex() : "";
  };
  const std::string expected = digest();
  std::filesystem::remove(dir_ + "/model.safetensors");
  const auto tensors = TinyTensors({});
  const auto middle = tensors.begin() + 7;
  ASSERT_TRUE(WriteBytes(dir_ + "/a.bin", TorchStream({tensors.begin(), middle})).ok());
  ASSERT_TRUE(WriteBytes(dir_ + "/b.bin", ZipBytes(TorchMembers({middle, tensors.end()}))).ok());
  Json map;
  for (auto tensor = tensors.begin(); tensor != tensors.end(); ++tensor) {
    map[tensor->name] = tensor < middle ? "a.bin" : "b.bin";
  }
  WriteJson("pytorch_model.bin.index.json", {{"weight_map", map}});
  EXPECT_EQ(digest(), expected);
  for (const std::string& file : {TorchStream(tensors), ZipBytes(TorchMembers(tensors))}) {
    ASSERT_TRUE(WriteBytes(dir_ + "/pytorch_model.bin", file).ok());
    EXPECT_EQ(digest(), expected);
  }
  ASSERT_TRUE(WriteBytes(dir_ + "/model.safetensors", "x").ok());
  EXPECT_TRUE(Contains(FailureOf(), "model.safetensors")) << "which comes first";
}

/// Splits the tiny model into two files and an index.
class ShardedFolder : public ModelFolderTest {
 protected:
  void SetUp() override {
    ModelFolderTest::SetUp();
    Write();
    std::filesystem::remove(dir_ + "/model.safetensors");
    const auto tensors = TinyTensors({});
    const auto middle = tensors.begin() + 7;
    ASSERT_TRUE(WriteSafetensors(dir_ + "/a.safetensors", {tensors.begin(), middle}).ok());
    ASSERT_TRUE(WriteSafetensors(dir_ + "/b.safetensors", {middle, tensors.end()}).ok());
    for (auto tensor = tensors.begin(); tensor != tensors.end(); ++tensor) {
      map_[tensor->name] = tensor < middle ? "a.safetensors" : "b.safetensors";
    }
  }
  void WriteIndex() { WriteJson("model.safetensors.index.json", {{"weight_map", map_}}); }

  Json map_;
};

TEST_F(ShardedFolder, OpensAllFiles) {
  WriteIndex();
  const auto folder = ModelFolder::Open(dir_);
  ASSERT_TRUE(folder.ok()) << folder.error().Message();
  EXPECT_TRUE(Contains(folder->TensorPath(TensorRole::kClassifierBias), "b.safetensors"));
}

TEST_F(ShardedFolder, NeverLeavesTheFolder) {
  for (const char* name :
       {"../b.safetensors", "/etc/passwd", "x/../b.safetensors", "..", "", "."}) {
    map_["classifier.bias"] = name;
    WriteIndex();
    EXPECT_TRUE(Contains(FailureOf(), "weight_map of classifier.bias")) << name;
  }
  map_["classifier.bias"] = 3;
  WriteIndex();
  FailureOf();
}

TEST_F(ShardedFolder, NamesAMissingFile) {
  map_["classifier.bias"] = "c.safetensors";
  WriteIndex();
  EXPECT_TRUE(Contains(FailureOf(), "c.safetensors is missing"));
  WriteJson("model.safetensors.index.json", {{"weight_map", Json::array()}});
  EXPECT_TRUE(Contains(FailureOf(), "no weight_map"));
  map_.erase("classifier.bias");
  WriteIndex();
  EXPECT_TRUE(Contains(FailureOf(), "classifier.bias [3] is missing"));
}

TEST_F(ModelFolderTest, OpensOtherArchitectures) {
  const std::string data = STI_SOURCE_DIR "/tests/data/";
  const auto distilbert = ModelFolder::Open(data + "distilbert-tiny");
  ASSERT_TRUE(distilbert.ok()) << distilbert.error().Message();
  EXPECT_EQ(distilbert->info().architecture, Architecture::kDistilBert);
  EXPECT_EQ(distilbert->info().tokenizer.second_type, 0u);
  const TensorView& types = distilbert->Tensor(TensorRole::kTypeEmbeddings);
  EXPECT_EQ(types.shape, (std::vector<uint64_t>{1, 16}));
  EXPECT_EQ(types.type, DataType::kF16);
  EXPECT_EQ(types.bytes.size(), 32u);
  EXPECT_TRUE(
      std::all_of(types.bytes.begin(), types.bytes.end(), [](uint8_t b) { return b == 0; }));
  const auto roberta = ModelFolder::Open(data + "roberta-tiny");
  ASSERT_TRUE(roberta.ok()) << roberta.error().Message();
  EXPECT_EQ(roberta->info().tokenizer.kind, TokenizerKind::kByteBpe);
  EXPECT_EQ(roberta->info().max_length(), 32u);
  EXPECT_TRUE(roberta->merges_text().starts_with("\u0120 t\n"));
  EXPECT_TRUE(Contains(roberta->TensorPath(TensorRole::kPoolerWeight), "classifier.dense.weight"));
  const auto multilabel = ModelFolder::Open(data + "multilabel-tiny");
  ASSERT_TRUE(multilabel.ok()) << multilabel.error().Message();
  EXPECT_EQ(multilabel->info().problem, Problem::kMultiLabel);
}

// A copied cache of a hub has links to files that were not copied.
TEST_F(ModelFolderTest, NamesLinksIntoNothing) {
  Write();
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string path = dir_ + "/" + name;
    std::filesystem::rename(path, path + ".kept");
    std::filesystem::create_symlink("../blobs/0123", path);
    EXPECT_TRUE(Contains(FailureOf(ErrorKind::kNoSuchFile),
                         path + ": a link to ../blobs/0123, which is missing"));
    std::filesystem::remove(path);
    std::filesystem::rename(path + ".kept", path);
  }
  EXPECT_TRUE(Contains(ModelFolder::Open(dir_ + "/config.json").error().Message(),
                       "config.json: a file and no folder; give the folder of a model"));
}

// An encoder whose config.json was edited to say that it classifies.
TEST_F(ModelFolderTest, SaysThatAnEncoderAloneHasNoClassifier) {
  Write();
  EditTensors([](std::vector<TensorToWrite>& tensors) {
    std::erase_if(tensors, [](const TensorToWrite& t) { return t.name.starts_with("classifier"); });
  });
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kForeign), "weights without a classifier"));
}

// Wrappers for training put a name in front of all others.
TEST_F(ModelFolderTest, NamesAPrefixOfAllTensors) {
  TinyModelOptions options;
  options.prefix = "module.bert.";
  Write(options);
  const std::string message = FailureOf(ErrorKind::kForeign);
  EXPECT_TRUE(Contains(message, "model.safetensors: tensors have \"module.\" in front")) << message;
  EXPECT_TRUE(Contains(message, "removeprefix(\"module.\")")) << message;
}

// Other formats are not read, only named with the way out.
TEST_F(ModelFolderTest, SaysHowToConvertOtherFormats) {
  Write();
  std::filesystem::remove(dir_ + "/model.safetensors");
  for (const char* left : {"training_args.bin", "optimizer.pt", "scheduler.pt", "rng_state.pth"}) {
    ASSERT_TRUE(WriteBytes(dir_ + "/" + left, "x").ok());
  }
  EXPECT_TRUE(Contains(FailureOf(ErrorKind::kNoSuchFile), "no model.safetensors"));
  for (const auto& [name, argument] :
       {std::pair{"tf_model.h5", "import BertForSequenceClassification as M; M.from_pretrained("},
        std::pair{"tf_model.h5", ", from_tf=True"}, std::pair{"flax_model.msgpack", "from_flax"},
        std::pair{"model.ckpt", "rename it to pytorch_model.bin"},
        std::pair{"weights.pt", "rename it"}, std::pair{"model.bin", "rename it"},
        std::pair{"model.onnx", "the folder that it was exported from"},
        std::pair{"model-q4.gguf", "the folder that it was exported from"}}) {
    ASSERT_TRUE(WriteBytes(dir_ + "/" + name, "x").ok());
    const std::string message = FailureOf(ErrorKind::kForeign);
    EXPECT_TRUE(
        Contains(message, dir_ + "/" + name + ": only safetensors and pytorch_model.bin are read"))
        << message;
    EXPECT_TRUE(Contains(message, argument)) << message;
    std::filesystem::remove(dir_ + "/" + name);
  }
}

}  // namespace
}  // namespace sti
