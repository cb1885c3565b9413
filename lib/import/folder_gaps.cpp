#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "import/folder_file.h"
#include "network/families.h"

namespace sti {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 1024;  // that a folder is searched for

/// Weights, or a whole model, in a format that is not read.
struct OtherFormat {
  std::string_view ending;
  enum class Kind : uint8_t { kTorch, kOtherLibrary, kGraph } kind;
  std::string_view argument;  ///< that from_pretrained of transformers 4 needs for it
};
using FormatKind = OtherFormat::Kind;
constexpr OtherFormat kFormats[] = {
    {".bin", FormatKind::kTorch, ""},
    {".pt", FormatKind::kTorch, ""},
    {".pth", FormatKind::kTorch, ""},
    {".ckpt", FormatKind::kTorch, ""},
    {".h5", FormatKind::kOtherLibrary, "from_tf=True"},
    {".msgpack", FormatKind::kOtherLibrary, "from_flax=True"},
    {".onnx", FormatKind::kGraph, ""},
    {".gguf", FormatKind::kGraph, ""},
    {".tflite", FormatKind::kGraph, ""},
};

// Files that training leaves beside weights.
constexpr std::string_view kNoWeights[] = {"training_args.", "optimizer.", "scheduler.", "scaler.",
                                           "rng_state"};

bool IsOfTraining(std::string_view name) {
  return std::any_of(std::begin(kNoWeights), std::end(kNoWeights),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

std::vector<std::string> NamesIn(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dir, ignored)) {
    if (names.size() < kMaxFiles) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string HelpWith(const OtherFormat& format, const std::string& dir, const Family& family) {
  switch (format.kind) {
    case FormatKind::kTorch:
      return "if it is the model's state_dict, rename it to pytorch_model.bin, which is read "
             "without running it";
    case FormatKind::kOtherLibrary:
      return "transformers 4 with the library it is of converts it: python3 -c 'from transformers "
             "import " +
             std::string(family.class_name) + " as M; M.from_pretrained(\"" + dir + "\", " +
             std::string(format.argument) + ").save_pretrained(\"" + dir + "\")'";
    case FormatKind::kGraph:
      break;
  }
  return "give the folder that it was exported from";
}

// The part in front of a name that a file has otherwise: "module." of "module.bert.x". Empty if it
// has no such name.
std::string PrefixOf(const WeightFile& file, const std::string& name) {
  for (const std::string& found : file.Names()) {
    if (found.size() <= name.size() || !found.ends_with("." + name)) continue;
    return found.substr(0, found.size() - name.size());
  }
  return {};
}

bool HasClassifier(std::span<const WeightFile> files) {
  return std::any_of(files.begin(), files.end(), [](const WeightFile& file) {
    const std::vector<std::string> names = file.Names();
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.find("classifier") != std::string::npos;
    });
  });
}

std::string RenameCommand(const std::string& path, const std::string& prefix) {
  const std::string renamed = "{k.removeprefix(\"" + prefix + "\"): v for k, v in ";
  if (path.ends_with(".safetensors")) {
    return "python3 -c 'from safetensors.torch import load_file, save_file; f = \"" + path +
           "\"; save_file(" + renamed + "load_file(f).items()}, f, {\"format\": \"pt\"})'";
  }
  return "python3 -c 'import torch; f = \"" + path + "\"; torch.save(" + renamed +
         "torch.load(f, weights_only=True).items()}, f)'";
}

}  // namespace

Error MissingFile(const std::string& path, Error otherwise) {
  std::error_code failed;
  const fs::file_status link = fs::symlink_status(path, failed);
  if (failed == std::errc::permission_denied) {
    return MachineError("permission denied; let this user read it").At(path);
  }
  if (fs::is_symlink(link) && !fs::exists(path, failed)) {
    const std::string target = fs::read_symlink(path, failed).string();
    return NoSuchFileError("a link to " + target + ", which is missing; copy the files themselves")
        .At(path);
  }
  return otherwise;
}

Status CheckFolder(const std::string& path, const std::string& whose) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return {};
  if (fs::exists(path, failed)) {
    return NoSuchFileError("a file and no folder; give the folder of " + whose).At(path);
  }
  return MissingFile(path, NoSuchFileError("no such folder; give the folder of " + whose).At(path));
}

Error MissingWeights(const std::string& dir, const Family& family) {
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    const std::string path = dir + "/" + name;
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(path, ignored))) return MissingFile(path, {});
  }
  const std::vector<std::string> names = NamesIn(dir);
  for (const OtherFormat& format : kFormats) {
    for (const std::string& name : names) {
      if (!name.ends_with(format.ending) || IsOfTraining(name)) continue;
      return ForeignError("only safetensors and pytorch_model.bin are read; " +
                          HelpWith(format, dir, family))
          .At(dir + "/" + name);
    }
  }
  return NoSuchFileError("no model.safetensors; save the model in the safetensors format").At(dir);
}

Error MissingTensor(const std::string& dir, std::span<const WeightFile> files,
                    const std::string& name, const std::string& shape, bool is_head) {
  for (const WeightFile& file : files) {
    const std::string prefix = PrefixOf(file, name);
    if (prefix.empty()) continue;
    return ForeignError("tensors have \"" + prefix +
                        "\" in front of their names, so that no library finds them; take it off: " +
                        RenameCommand(file.path(), prefix))
        .At(file.path());
  }
  const std::string missing = "tensor " + name + " " + shape + " is missing; ";
  if (is_head && !HasClassifier(files)) {
    return ForeignError(missing +
                        "these are weights without a classifier, fine-tune the model for its "
                        "labels first (save_pretrained then writes both)")
        .At(dir);
  }
  return DataError(missing + "get a complete copy of the model").At(dir);
}

}  // namespace sti
