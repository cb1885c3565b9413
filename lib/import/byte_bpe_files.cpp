// The files of a byte-level BPE: vocab.json and merges.txt, or both in tokenizer.json.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/byte_spelling.h"
#include "base/remedy.h"
#include "import/added_tokens.h"
#include "import/folder_file.h"
#include "import/tokenizer_files.h"
#include "import/tokenizer_parts.h"
#include "types/limits.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// Adds merges to a text, each checked against the vocabulary.
class MergeList {
 public:
  MergeList(const std::string& path, std::string_view vocabulary_text) : path_(path) {
    ForEachLine(vocabulary_text, [&](std::string_view token) { tokens_.insert(token); });
  }

  /// `line` is "left right".
  Status Add(std::string_view line) {
    const size_t space = line.find(' ');
    const bool two = space != std::string_view::npos &&
                     line.find_first_of(" \n\r", space + 1) == std::string_view::npos;
    if (!two) return Bad("is not two tokens with a space between them; get a sound copy");
    const std::string left(line.substr(0, space));
    const std::string right(line.substr(space + 1));
    for (const std::string& token : {left, right, left + right}) {
      if (tokens_.count(token) == 0) {
        return Bad("is of or into \"" + token + "\", which the vocabulary does not have; use the " +
                   "merges of this model");
      }
    }
    if (!seen_.emplace(line).second) return Bad("stands twice; get a sound copy");
    (text_ += line) += '\n';
    return {};
  }

  std::string Take() { return std::move(text_); }

 private:
  [[nodiscard]] Error Bad(const std::string& what) const {
    return DataError("merge " + std::to_string(seen_.size() + 1) + " " + what).At(path_);
  }

  const std::string& path_;
  std::unordered_set<std::string_view> tokens_;
  std::unordered_set<std::string> seen_;
  std::string text_;
};

Status CheckBytes(const std::string& path, std::string_view vocabulary_text) {
  std::unordered_set<std::string_view> tokens;
  ForEachLine(vocabulary_text, [&](std::string_view token) { tokens.insert(token); });
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (tokens.count(ByteSpelling(static_cast<uint8_t>(byte))) != 0) continue;
    return DataError("no token for byte " + std::to_string(byte) +
                     ", so it is no byte-level BPE; use the vocabulary of this model")
        .At(path);
  }
  return {};
}

Result<std::string> ReadMergesText(const std::string& path, std::string_view vocabulary_text) {
  STI_ASSIGN_OR_RETURN(const std::string raw, ReadSmallFile(path, kMaxTextBytes));
  MergeList merges(path, vocabulary_text);
  Status status;
  ForEachLine(raw, [&](std::string_view line) {
    if (!status.ok() || line.empty() || line.starts_with("#version")) return;
    status = merges.Add(line);
  });
  STI_RETURN_IF_ERROR(status);
  return merges.Take();
}

/// Reads tokenizer.json, refusing what would give other ids than ours.
class ByteBpeJson {
 public:
  ByteBpeJson(const std::string& path, const Json& json) : path_(path), reader_(path, json) {}

  Status Read(TokenizerFiles* files) {
    const Json* model = reader_.Find("model");
    if (model == nullptr || !Is(*model, "type", "BPE")) {
      return reader_.Unsupported(
          "the tokenizer is no BPE; only RoBERTa's byte-level BPE is supported");
    }
    STI_RETURN_IF_ERROR(CheckModel(*model));
    STI_RETURN_IF_ERROR(ReadSteps(&files->info));
    STI_ASSIGN_OR_RETURN(const Json added, AddedTokens(*model));
    STI_ASSIGN_OR_RETURN(
        files->vocabulary_text,
        VocabularyText(reader_, model->value("vocab", Json()), "model.vocab", added));
    return ReadMerges(*model, files);
  }

 private:
  static bool Is(const Json& object, const char* key, const Json& expected) {
    return object.is_object() && object.contains(key) && object[key] == expected;
  }

  [[nodiscard]] Status CheckModel(const Json& model) const {
    const Json unset[] = {nullptr, false, "", 0.0};
    const auto absent = [&](const char* key) {
      return !model.contains(key) ||
             std::find(std::begin(unset), std::end(unset), model[key]) != std::end(unset);
    };
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                            "byte_fallback", "ignore_merges"}) {
      if (absent(key)) continue;
      return reader_.Unsupported("model." + std::string(key) +
                                 " is set; only RoBERTa's settings are supported");
    }
    return {};
  }

  // Reads the steps around the model: nothing but the bytes before it, RoBERTa's control tokens
  // behind it.
  Status ReadSteps(TokenizerInfo* info) const {
    if (reader_.Find("normalizer") != nullptr) {
      return reader_.Unsupported("there is a normalizer; RoBERTa's tokenizer has none");
    }
    const Json* before = reader_.Find("pre_tokenizer");
    if (before == nullptr || !Is(*before, "type", "ByteLevel") || Is(*before, "use_regex", false)) {
      return reader_.Unsupported("the pre_tokenizer is not ByteLevel; only RoBERTa's is supported");
    }
    const Json* behind = reader_.Find("post_processor");
    if (behind == nullptr || !Is(*behind, "type", "RobertaProcessing")) {
      return reader_.Unsupported(
          "the post_processor is not RobertaProcessing; only RoBERTa's is supported");
    }
    STI_ASSIGN_OR_RETURN(const auto space, reader_.At(*before).Bool("add_prefix_space"));
    info->add_prefix_space = space.value_or(false);
    return {};
  }

  // Tokens beyond the model's own, by id; CheckAddedTokens judges them.
  [[nodiscard]] Result<Json> AddedTokens(const Json& model) const {
    Json added = Json::object();
    const Json* list = reader_.Find("added_tokens");
    if (list == nullptr) return added;
    if (!list->is_array()) return reader_.Bad("added_tokens is not a list; get a sound copy");
    for (const Json& token : *list) {
      const bool sound = token.is_object() && token.contains("content") &&
                         token["content"].is_string() && token.contains("id");
      if (!sound) return reader_.Bad("added_tokens has what is no token; get a sound copy");
      const auto& content = token["content"].get_ref<const std::string&>();
      const bool known = model.contains("vocab") && model["vocab"].contains(content);
      if (!known) added[content] = token["id"];
    }
    return added;
  }

  [[nodiscard]] Status ReadMerges(const Json& model, TokenizerFiles* files) const {
    if (!model.contains("merges") || !model["merges"].is_array()) {
      return reader_.Bad("model.merges is not a list; get a sound copy");
    }
    MergeList merges(path_, files->vocabulary_text);
    for (const Json& merge : model["merges"]) {
      std::string line;
      if (merge.is_string()) {
        line = merge.get<std::string>();
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        line = merge[0].get<std::string>() + " " + merge[1].get<std::string>();
      }
      STI_RETURN_IF_ERROR(merges.Add(line));
    }
    files->merges_text = merges.Take();
    return {};
  }

  const std::string& path_;
  ObjectReader reader_;
};

}  // namespace

Result<TokenizerFiles> ReadByteBpeFiles(const std::string& dir, uint32_t max_tokens,
                                        uint32_t pad_id) {
  TokenizerFiles files;
  SpecialNames names{"<unk>", "<s>", "</s>", "<pad>", "<mask>", "<s>", "</s>"};
  files.info.kind = TokenizerKind::kByteBpe;
  files.info.pad_id = pad_id;
  std::string path = dir + "/vocab.json";
  if (const std::string merges = dir + "/merges.txt"; IsFile(path) && IsFile(merges)) {
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    STI_ASSIGN_OR_RETURN(files.vocabulary_text, VocabularyText(ObjectReader(path, json), json,
                                                               "the vocabulary", Json::object()));
    STI_ASSIGN_OR_RETURN(files.merges_text, ReadMergesText(merges, files.vocabulary_text));
  } else if (path = dir + "/tokenizer.json"; IsFile(path)) {
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    STI_RETURN_IF_ERROR(ByteBpeJson(path, json).Read(&files));
  } else {
    return NoSuchFileError("neither vocab.json with merges.txt nor tokenizer.json")
        .At(dir)
        .Fix(Remedy::kGiveTokenizer);
  }
  STI_RETURN_IF_ERROR(CheckBytes(path, files.vocabulary_text));
  STI_RETURN_IF_ERROR(ReadSpecialMap(dir, &names));
  if (const std::string config = dir + "/tokenizer_config.json"; IsFile(config)) {
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(config));
    const ObjectReader reader(config, json);
    STI_RETURN_IF_ERROR(CheckClass(reader, {"RobertaTokenizer", "RobertaTokenizerFast",
                                            "PreTrainedTokenizerFast", "TokenizersBackend"}));
    STI_RETURN_IF_ERROR(ReadSpecialNames(reader, &names));
    STI_ASSIGN_OR_RETURN(const auto space, reader.Bool("add_prefix_space"));
    files.info.add_prefix_space = space.value_or(files.info.add_prefix_space);
  }
  STI_RETURN_IF_ERROR(
      FindSpecialTokens(path, files.vocabulary_text, names, max_tokens, &files.info));
  STI_RETURN_IF_ERROR(CheckAddedTokens(dir, files.vocabulary_text, names));
  return files;
}

}  // namespace sti
