#include "import/sentence_folder.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "base/utf8.h"
#include "import/folder_file.h"
#include "types/limits.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostModules = 16;

/// A pooling of sentence-transformers: its name since version 5, and the switch that it had before.
struct NamedPooling {
  std::string_view name;
  const char* key;
  std::optional<Pooling> pooling;  ///< nothing: it is not computed here
};
constexpr NamedPooling kPoolings[] = {
    {"cls", "pooling_mode_cls_token", Pooling::kFirst},
    {"max", "pooling_mode_max_tokens", Pooling::kMaximum},
    {"mean", "pooling_mode_mean_tokens", Pooling::kMean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", {}},
    {"weightedmean", "pooling_mode_weightedmean_tokens", {}},
    {"lasttoken", "pooling_mode_lasttoken", {}},
};

constexpr const char* kSupported = "; supported are cls, mean and max, one of them";

/// Returns the last name of a class, which later versions keep in other places: "Pooling" of
/// "sentence_transformers.models.Pooling".
std::string_view ClassOf(std::string_view type) { return type.substr(type.rfind('.') + 1); }

/// Returns whether a path stays within its folder: names with strokes between them.
bool IsWithin(std::string_view path) {
  return path.find("..") == std::string_view::npos && !path.starts_with('/') &&
         path.find('\\') == std::string_view::npos && IsPrintable(path);
}

/// Reads the modules of one folder, each in a step.
class ModulesReader {
 public:
  ModulesReader(const std::string& dir, const Json& modules)
      : dir_(dir), path_(dir + "/modules.json"), modules_(modules) {}

  Result<SentenceModel> Read() {
    if (modules_.empty() || modules_.size() > kMostModules) return Bad("no list of modules");
    for (const Json& module : modules_) STI_RETURN_IF_ERROR(ReadModule(module));
    if (read_.size() < 2) {
      return ForeignError(
                 "a Transformer without a Pooling gives no vector of a text; give a folder "
                 "of a sentence model")
          .At(path_);
    }
    return std::move(model_);
  }

 private:
  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError(what + "; get a sound copy").At(path_);
  }

  Status ReadModule(const Json& module) {
    if (!module.is_object()) return Bad("a module that is no object");
    const ObjectReader reader(path_, module);
    STI_ASSIGN_OR_RETURN(const std::string type, reader.String("type", ""));
    STI_ASSIGN_OR_RETURN(const std::string place, reader.String("path", ""));
    if (!IsWithin(place)) return Bad("the path of a module leads out of the folder");
    const std::string folder = place.empty() ? dir_ : dir_ + "/" + place;
    static constexpr std::string_view kOrder[] = {"Transformer", "Pooling", "Normalize"};
    const std::string_view wanted = read_.size() < 3 ? kOrder[read_.size()] : "";
    if (ClassOf(type) != wanted) {
      return ForeignError("module " + std::to_string(read_.size()) + " is a \"" +
                          MakePrintable(ClassOf(type)) +
                          "\"; supported are Transformer, Pooling and Normalize, in this order")
          .At(path_);
    }
    read_.emplace_back(wanted);
    if (wanted == "Transformer") return ReadTransformer(folder);
    if (wanted == "Pooling") return ReadPooling(folder);
    model_.head.unit_length = true;
    return {};
  }

  Status ReadTransformer(const std::string& folder) {
    model_.encoder = folder;
    for (const char* name : {"bert", "roberta", "distilbert"}) {
      const std::string path = folder + "/sentence_" + name + "_config.json";
      if (!IsFile(path)) continue;
      STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
      const ObjectReader reader(path, json);
      if (reader.Find("max_seq_length") != nullptr) {
        STI_ASSIGN_OR_RETURN(model_.max_length,
                             reader.Number("max_seq_length", kMinLength, UINT32_MAX));
      }
      STI_ASSIGN_OR_RETURN(const auto lowercases, reader.Bool("do_lower_case"));
      model_.lowercases = lowercases.value_or(false);
      return {};
    }
    return {};
  }

  Status ReadPooling(const std::string& folder) {
    const std::string path = folder + "/config.json";
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    const ObjectReader reader(path, json);
    STI_ASSIGN_OR_RETURN(const auto with_prompt, reader.Bool("include_prompt"));
    if (!with_prompt.value_or(true))
      return reader.Unsupported("include_prompt is false; only pooling of all tokens is supported");
    STI_ASSIGN_OR_RETURN(const std::string name, PoolingName(reader));
    for (const NamedPooling& known : kPoolings) {
      if (known.name != name || !known.pooling) continue;
      model_.head.output = HeadOutput::kEmbedding;
      model_.head.pooling = *known.pooling;
      return {};
    }
    return reader.Unsupported("the pooling is \"" + MakePrintable(name) + "\"" + kSupported);
  }

  /// Returns the name of the pooling; several joined with +. Without one it is the mean.
  static Result<std::string> PoolingName(const ObjectReader& reader) {
    if (const Json* mode = reader.Find("pooling_mode")) {
      const Json& one = mode->is_array() && mode->size() == 1 ? (*mode)[0] : *mode;
      return one.is_string() ? one.get<std::string>() : one.dump();
    }
    std::string name;
    for (const NamedPooling& known : kPoolings) {
      STI_ASSIGN_OR_RETURN(const auto chosen, reader.Bool(known.key));
      if (chosen.value_or(false)) name += (name.empty() ? "" : "+") + std::string(known.name);
    }
    return name.empty() ? "mean" : name;
  }

  const std::string& dir_;
  const std::string path_;
  const Json& modules_;
  SentenceModel model_;
  std::vector<std::string> read_;  ///< classes of the modules so far
};

/// Says which prompts the model wants before its texts, as nothing here adds them by itself.
Status WarnOfPrompts(const std::string& dir, const LogSink& log) {
  const std::string path = dir + "/config_sentence_transformers.json";
  if (!log || !IsFile(path)) return {};
  STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const ObjectReader reader(path, json);
  const Json* prompts = reader.Find("prompts");
  if (prompts == nullptr || !prompts->is_object()) return {};
  std::string said;
  for (const auto& [name, prompt] : prompts->items()) {
    if (!prompt.is_string() || prompt.get_ref<const std::string&>().empty()) continue;
    said += (said.empty() ? "" : ", ") + MakePrintable(name) + " \"" +
            MakePrintable(prompt.get_ref<const std::string&>()) + "\"";
  }
  if (said.empty()) return {};
  STI_ASSIGN_OR_RETURN(const std::string usual, reader.String("default_prompt_name", ""));
  if (!usual.empty()) said += "; the usual one is " + MakePrintable(usual);
  log({LogLevel::kWarning, path + ": the model wants prompts before its texts: " + said,
       Remedy::kGivePrefix});
  return {};
}

}  // namespace

Result<std::optional<SentenceModel>> ReadSentenceModel(const std::string& dir, const LogSink& log) {
  const std::string path = dir + "/modules.json";
  if (!IsFile(path)) return std::optional<SentenceModel>();
  STI_ASSIGN_OR_RETURN(const Json modules, ReadJsonListFile(path));
  STI_ASSIGN_OR_RETURN(SentenceModel model, ModulesReader(dir, modules).Read());
  STI_RETURN_IF_ERROR(WarnOfPrompts(dir, log));
  return std::optional<SentenceModel>(std::move(model));
}

std::vector<SentenceFile> SentenceFilesOf(const ModelInfo& info) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson modules = OrderedJson::array();
  const auto add = [&](const std::string& path, const std::string& name) {
    const size_t index = modules.size();
    modules.push_back({{"idx", index},
                       {"name", std::to_string(index)},
                       {"path", path},
                       {"type", "sentence_transformers.models." + name}});
  };
  add("", "Transformer");
  add("1_Pooling", "Pooling");
  if (info.head.unit_length) add("2_Normalize", "Normalize");
  OrderedJson pooling = {{"word_embedding_dimension", info.shape.hidden}};
  for (const NamedPooling& known : kPoolings) {
    if (known.pooling) pooling[known.key] = *known.pooling == info.head.pooling;
  }
  const OrderedJson encoder = {{"max_seq_length", info.max_length()}, {"do_lower_case", false}};
  return {{"modules.json", modules.dump(2) + "\n"},
          {"1_Pooling/config.json", pooling.dump(2) + "\n"},
          {"sentence_bert_config.json", encoder.dump(2) + "\n"}};
}

}  // namespace sti
