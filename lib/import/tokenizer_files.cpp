#include "import/tokenizer_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/remedy.h"
#include "import/added_tokens.h"
#include "import/folder_file.h"
#include "import/tokenizer_parts.h"
#include "types/limits.h"

namespace sti {
namespace {

using Json = nlohmann::json;

/// The options that the files name; empty where they say nothing.
struct Options {
  std::optional<bool> lowercase;
  std::optional<bool> strip_accents;
  std::optional<bool> split_chinese;
};

Result<std::string> ReadVocabularyText(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string raw, ReadSmallFile(path, kMaxTextBytes));
  std::string text;
  text.reserve(raw.size() + 1);
  ForEachLine(raw, [&](std::string_view line) { (text += line) += '\n'; });
  return text;
}

/// Reads tokenizer.json, refusing what would give other ids than ours.
class TokenizerJson {
 public:
  TokenizerJson(const std::string& path, const Json& json) : reader_(path, json) {}

  Result<std::string> Read(Options* options) {
    const Json* model = reader_.Find("model");
    const Json* normalizer = reader_.Find("normalizer");
    if (model == nullptr || !Is(*model, "type", "WordPiece")) {
      return reader_.Unsupported(
          "the tokenizer is no WordPiece; only BERT's WordPiece is supported");
    }
    if (normalizer == nullptr || !Is(*normalizer, "type", "BertNormalizer")) {
      return reader_.Unsupported("the normalizer is no BertNormalizer; only BERT's is supported");
    }
    STI_RETURN_IF_ERROR(CheckModel(*model));
    STI_RETURN_IF_ERROR(ReadNormalizer(*normalizer, options));
    return VocabularyText(reader_, model->value("vocab", Json()), "model.vocab", Json::object());
  }

 private:
  static bool Is(const Json& object, const char* key, const Json& expected) {
    return object.is_object() && object.contains(key) && object[key] == expected;
  }

  [[nodiscard]] Status CheckModel(const Json& model) const {
    const bool prefix = !model.contains("continuing_subword_prefix") ||
                        Is(model, "continuing_subword_prefix", "##");
    const bool longest =
        !model.contains("max_input_chars_per_word") || Is(model, "max_input_chars_per_word", 100);
    if (prefix && longest) return {};
    return reader_.Unsupported(
        "pieces continue with another prefix than \"##\", or words may be longer "
        "than 100 characters; only BERT's settings are supported");
  }

  Status ReadNormalizer(const Json& object, Options* options) const {
    const ObjectReader normalizer = reader_.At(object);
    STI_ASSIGN_OR_RETURN(const auto clean, normalizer.Bool("clean_text"));
    if (!clean.value_or(true)) {
      return reader_.Unsupported("clean_text is false; only BERT's settings are supported");
    }
    STI_ASSIGN_OR_RETURN(options->lowercase, normalizer.Bool("lowercase"));
    STI_ASSIGN_OR_RETURN(options->strip_accents, normalizer.Bool("strip_accents"));
    STI_ASSIGN_OR_RETURN(options->split_chinese, normalizer.Bool("handle_chinese_chars"));
    return {};
  }

  ObjectReader reader_;
};

Status ReadTokenizerConfig(const std::string& path, Options* options, SpecialNames* names) {
  STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const ObjectReader reader(path, json);
  STI_RETURN_IF_ERROR(CheckClass(
      reader, {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer",
               "DistilBertTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend"}));
  const std::pair<const char*, std::optional<bool>*> switches[] = {
      {"do_lower_case", &options->lowercase},
      {"strip_accents", &options->strip_accents},
      {"tokenize_chinese_chars", &options->split_chinese}};
  for (const auto& [key, value] : switches) {
    STI_ASSIGN_OR_RETURN(const auto said, reader.Bool(key));
    if (said) *value = said;
  }
  return ReadSpecialNames(reader, names);
}

}  // namespace

Result<TokenizerFiles> ReadTokenizerFiles(const std::string& dir, uint32_t max_tokens,
                                          uint32_t pad_id) {
  TokenizerFiles files;
  Options options;
  SpecialNames names{"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "", ""};
  std::string path = dir + "/vocab.txt";
  if (IsFile(path)) {
    STI_ASSIGN_OR_RETURN(files.vocabulary_text, ReadVocabularyText(path));
  } else if (path = dir + "/tokenizer.json"; IsFile(path)) {
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    STI_ASSIGN_OR_RETURN(files.vocabulary_text, TokenizerJson(path, json).Read(&options));
  } else {
    return NoSuchFileError("neither vocab.txt nor tokenizer.json")
        .At(dir)
        .Fix(Remedy::kGiveTokenizer);
  }
  STI_RETURN_IF_ERROR(ReadSpecialMap(dir, &names));
  const std::string config = dir + "/tokenizer_config.json";
  if (IsFile(config)) STI_RETURN_IF_ERROR(ReadTokenizerConfig(config, &options, &names));
  files.info.lowercase = options.lowercase.value_or(true);
  files.info.strip_accents = options.strip_accents.value_or(files.info.lowercase);
  files.info.split_chinese = options.split_chinese.value_or(true);
  files.info.pad_id = pad_id;
  STI_RETURN_IF_ERROR(
      FindSpecialTokens(path, files.vocabulary_text, names, max_tokens, &files.info));
  STI_RETURN_IF_ERROR(CheckAddedTokens(dir, files.vocabulary_text, names));
  return files;
}

}  // namespace sti
