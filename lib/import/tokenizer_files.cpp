#include "import/tokenizer_files.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "import/folder_file.h"

namespace sti {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxVocabularyBytes = uint64_t{64} << 20;

/// What the files say; empty where they say nothing.
struct Options {
  std::optional<bool> lowercase;
  std::optional<bool> strip_accents;
  std::optional<bool> split_chinese;
};

struct SpecialNames {
  std::string unknown = "[UNK]";
  std::string cls = "[CLS]";
  std::string sep = "[SEP]";
  std::string pad = "[PAD]";
};

/// Calls visit(line) for each line, without its end.
template <typename Visit>
void ForEachLine(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
}

Result<std::string> ReadVocabularyText(const std::string& path) {
  STI_ASSIGN_OR_RETURN(const std::string raw, ReadSmallFile(path, kMaxVocabularyBytes));
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
      return reader_.Bad("the tokenizer is no WordPiece; only BERT's WordPiece is supported");
    }
    if (normalizer == nullptr || !Is(*normalizer, "type", "BertNormalizer")) {
      return reader_.Bad("the normalizer is no BertNormalizer; only BERT's is supported");
    }
    STI_RETURN_IF_ERROR(CheckModel(*model));
    STI_RETURN_IF_ERROR(ReadNormalizer(*normalizer, options));
    return ReadVocabulary(*model);
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
    return reader_.Bad(
        "pieces continue with another prefix than \"##\", or words may be longer "
        "than 100 characters; only BERT's settings are supported");
  }

  Status ReadNormalizer(const Json& object, Options* options) const {
    const ObjectReader normalizer = reader_.At(object);
    STI_ASSIGN_OR_RETURN(const auto clean, normalizer.Bool("clean_text"));
    if (!clean.value_or(true)) {
      return reader_.Bad("clean_text is false; only BERT's settings are supported");
    }
    STI_ASSIGN_OR_RETURN(options->lowercase, normalizer.Bool("lowercase"));
    STI_ASSIGN_OR_RETURN(options->strip_accents, normalizer.Bool("strip_accents"));
    STI_ASSIGN_OR_RETURN(options->split_chinese, normalizer.Bool("handle_chinese_chars"));
    return {};
  }

  [[nodiscard]] Result<std::string> ReadVocabulary(const Json& model) const {
    if (!model.contains("vocab") || !model["vocab"].is_object()) {
      return reader_.Bad("model.vocab is not an object; get a sound copy");
    }
    const Json& vocabulary = model["vocab"];
    std::vector<const std::string*> tokens(vocabulary.size(), nullptr);
    for (auto item = vocabulary.begin(); item != vocabulary.end(); ++item) {
      const uint64_t id = item->is_number_unsigned() ? item->get<uint64_t>() : tokens.size();
      if (id >= tokens.size() || tokens[id] != nullptr) {
        return reader_.Bad(
            "model.vocab has ids that do not count from 0 without gaps; add a "
            "vocab.txt");
      }
      if (item.key().find('\n') != std::string::npos || item.key().ends_with('\r')) {
        return reader_.Bad("token " + std::to_string(id) + " holds a line end; not supported");
      }
      tokens[id] = &item.key();
    }
    std::string text;
    for (const std::string* token : tokens) (text += *token) += '\n';
    return text;
  }

  ObjectReader reader_;
};

/// The name of a control token: a string, or an object with `content`.
Status ReadName(const ObjectReader& reader, const char* key, std::string* name) {
  const Json* value = reader.Find(key);
  if (value == nullptr) return {};
  if (value->is_object() && value->contains("content")) value = &(*value)["content"];
  if (!value->is_string()) return reader.Bad(std::string(key) + " is no token; mend the file");
  *name = value->get<std::string>();
  return {};
}

Status ReadClass(const ObjectReader& reader) {
  STI_ASSIGN_OR_RETURN(const std::string name, reader.String("tokenizer_class", "BertTokenizer"));
  constexpr std::array<std::string_view, 5> kKnown = {
      "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "DistilBertTokenizerFast",
      "PreTrainedTokenizerFast"};
  for (const std::string_view known : kKnown) {
    if (name == known) return {};
  }
  return reader.Bad("tokenizer_class is \"" + name + "\"; only BertTokenizer is supported");
}

Status ReadTokenizerConfig(const std::string& path, Options* options, SpecialNames* names) {
  STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
  const ObjectReader reader(path, json);
  STI_RETURN_IF_ERROR(ReadClass(reader));
  const std::pair<const char*, std::optional<bool>*> switches[] = {
      {"do_lower_case", &options->lowercase},
      {"strip_accents", &options->strip_accents},
      {"tokenize_chinese_chars", &options->split_chinese}};
  for (const auto& [key, value] : switches) {
    STI_ASSIGN_OR_RETURN(const auto said, reader.Bool(key));
    if (said) *value = said;
  }
  STI_RETURN_IF_ERROR(ReadName(reader, "unk_token", &names->unknown));
  STI_RETURN_IF_ERROR(ReadName(reader, "cls_token", &names->cls));
  STI_RETURN_IF_ERROR(ReadName(reader, "sep_token", &names->sep));
  return ReadName(reader, "pad_token", &names->pad);
}

/// Fills the ids of the control tokens in; the last line that spells one counts.
Status FindSpecialTokens(const std::string& path, std::string_view text, const SpecialNames& names,
                         uint32_t max_tokens, TokenizerInfo* info) {
  std::optional<uint32_t> unknown, cls, sep, pad;
  uint32_t id = 0;
  ForEachLine(text, [&](std::string_view line) {
    if (line == names.unknown) unknown = id;
    if (line == names.cls) cls = id;
    if (line == names.sep) sep = id;
    if (line == names.pad) pad = id;
    ++id;
  });
  if (id > max_tokens) {
    return DataError(path + ": " + std::to_string(id) + " tokens, but vocab_size is " +
                     std::to_string(max_tokens) + "; use the vocabulary of this model");
  }
  for (const auto& [found, name] :
       {std::pair{unknown, names.unknown}, std::pair{cls, names.cls}, std::pair{sep, names.sep}}) {
    if (found) continue;
    return DataError(path + ": no token " + name + "; use the vocabulary of this model");
  }
  info->unknown_id = *unknown;
  info->cls_id = *cls;
  info->sep_id = *sep;
  if (pad) info->pad_id = *pad;
  return {};
}

}  // namespace

Result<TokenizerFiles> ReadTokenizerFiles(const std::string& dir, uint32_t max_tokens,
                                          uint32_t pad_id) {
  TokenizerFiles files;
  Options options;
  SpecialNames names;
  std::string path = dir + "/vocab.txt";
  if (IsFile(path)) {
    STI_ASSIGN_OR_RETURN(files.vocabulary_text, ReadVocabularyText(path));
  } else if (path = dir + "/tokenizer.json"; IsFile(path)) {
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(path));
    STI_ASSIGN_OR_RETURN(files.vocabulary_text, TokenizerJson(path, json).Read(&options));
  } else {
    return DataError(dir + ": neither vocab.txt nor tokenizer.json; add the model's vocab.txt");
  }
  const std::string config = dir + "/tokenizer_config.json";
  if (IsFile(config)) STI_RETURN_IF_ERROR(ReadTokenizerConfig(config, &options, &names));
  files.info.lowercase = options.lowercase.value_or(true);
  files.info.strip_accents = options.strip_accents.value_or(files.info.lowercase);
  files.info.split_chinese = options.split_chinese.value_or(true);
  files.info.pad_id = pad_id;
  STI_RETURN_IF_ERROR(
      FindSpecialTokens(path, files.vocabulary_text, names, max_tokens, &files.info));
  return files;
}

}  // namespace sti
