#include "import/folder_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/json.h"
#include "base/remedy.h"
#include "network/families.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxJsonBytes = uint64_t{64} << 20;

}  // namespace

bool IsFile(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

Status CheckFetched(const std::string& path, std::string_view bytes) {
  if (!bytes.starts_with("version https://git-lfs.github.com/spec/")) return {};
  return ForeignError("a pointer of git-lfs in place of the file")
      .At(path)
      .Fix(Remedy::kFetchLargeFile);
}

Result<std::string> ReadSmallFile(const std::string& path, uint64_t max_bytes) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored))  // to open it would wait for a writer
    return NoSuchFileError("not a regular file").At(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file && !IsFile(path))
    return NoSuchFileError("no such file; give the folder whole").At(path);
  if (!file) return MachineError("cannot open; may it be read?").At(path);
  const auto size = static_cast<std::streamoff>(file.tellg());
  if (size < 0) return MachineError("cannot tell its size; check the path").At(path);
  if (static_cast<uint64_t>(size) > max_bytes) {
    return DataError(std::to_string(size) + " bytes, more than the " + std::to_string(max_bytes) +
                     " allowed; is it the right file?")
        .At(path);
  }
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  if (!file) return Error{ErrorKind::kReadFailed, "cannot read; check the disk"}.At(path);
  STI_RETURN_IF_ERROR(CheckFetched(path, text));
  return text;
}

namespace {

Result<Json> ReadAnyJson(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path, kMaxJsonBytes));
  auto json = ParseJson(text);
  if (!json.ok()) return DataError(json.error().what + "; get a sound copy").At(path);
  return json;
}

}  // namespace

Result<Json> ReadJsonFile(const std::string& path) {
  STI_ASSIGN_OR_RETURN(Json json, ReadAnyJson(path));
  if (!json.is_object()) return DataError("not a JSON object; get a sound copy").At(path);
  return json;
}

Result<Json> ReadJsonListFile(const std::string& path) {
  STI_ASSIGN_OR_RETURN(Json json, ReadAnyJson(path));
  if (!json.is_array()) return DataError("not a JSON list; get a sound copy").At(path);
  return json;
}

bool ObjectReader::Has(const char* key) const { return object_.contains(key); }

const Json* ObjectReader::Find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

Error ObjectReader::Bad(const std::string& what) const { return DataError(what).At(path_); }

Error ObjectReader::Unsupported(const std::string& what) const {
  return ForeignError(what).At(path_);
}

Result<uint32_t> ObjectReader::Number(const char* key, uint32_t low, uint32_t high,
                                      std::optional<uint32_t> otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr && otherwise) return *otherwise;
  if (value == nullptr) return Bad(std::string("no ") + key + "; get a complete copy");
  if (value->is_number_unsigned()) {
    const auto number = value->get<uint64_t>();
    if (number >= low && number <= high) return static_cast<uint32_t>(number);
  }
  return Bad(std::string(key) + " is not a whole number from " + std::to_string(low) + " to " +
             std::to_string(high) + "; such a model is not supported");
}

Result<double> ObjectReader::Real(const char* key, double otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) return otherwise;
  if (value->is_number()) return value->get<double>();
  return Bad(std::string(key) + " is not a number; mend the file");
}

Result<std::string> ObjectReader::String(const char* key, const std::string& otherwise) const {
  const Json* value = Find(key);
  if (value == nullptr) return otherwise;
  if (value->is_string()) return value->get<std::string>();
  return Bad(std::string(key) + " is not a string; mend the file");
}

Result<std::optional<bool>> ObjectReader::Bool(const char* key) const {
  const Json* value = Find(key);
  if (value == nullptr) return std::optional<bool>();
  if (value->is_boolean()) return std::optional<bool>(value->get<bool>());
  return Bad(std::string(key) + " is neither true nor false; mend the file");
}

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

// `model_class` is that of transformers that loads the model.
std::string HelpWith(const OtherFormat& format, const std::string& dir,
                     const std::string& model_class) {
  switch (format.kind) {
    case FormatKind::kTorch:
      return "if it is the model's state_dict, rename it to pytorch_model.bin, which is read "
             "without running it";
    case FormatKind::kOtherLibrary:
      return "transformers 4 with the library it is of converts it: python3 -c 'from transformers "
             "import " +
             model_class + " as M; M.from_pretrained(\"" + dir + "\", " +
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

Error MissingWeights(const std::string& dir, const std::string& model_class) {
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
                          HelpWith(format, dir, model_class))
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
