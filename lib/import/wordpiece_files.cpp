// The files of a WordPiece tokenizer: tokenizer.json, vocab.txt, and settings.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "import/tokenizer_files.h"
#include "import/tokenizer_steps.h"

namespace sti {
namespace {

using Json = nlohmann::json;

class WordPieceFiles {
 public:
  WordPieceFiles(const TokenizerSource& source, const TokenizedModel& model,
                 const TokenizerNotes& notes, SpecialNames* names, TokenizerFiles* files)
      : source_(source), model_(model), notes_(notes), names_(*names), files_(*files) {}

  Status Read() {
    names_ = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "", ""};
    STI_RETURN_IF_ERROR(source_.ReadNames(&names_));
    STI_RETURN_IF_ERROR(ReadVocabulary());
    return source_.is_generic() ? ReadSteps() : ReadSettings();
  }

 private:
  // The vocabulary of tokenizer.json comes before that of vocab.txt, whatever the class.
  Status ReadVocabulary() {
    const std::string lines = source_.dir() + "/vocab.txt";
    const JsonFile* json = source_.tokenizer();
    std::optional<std::string> text;
    if (IsFile(lines)) {
      STI_ASSIGN_OR_RETURN(text, ReadVocabularyLines(lines, model_.vocabulary));
    }
    STI_RETURN_IF_ERROR(source_.CheckVocabulary(text.has_value(), "vocab.txt"));
    if (json == nullptr) {
      files_.vocabulary_text = *std::move(text);
      path_ = lines;
      return CheckSize();
    }
    path_ = json->path;
    if (source_.is_generic()) {
      STI_RETURN_IF_ERROR(Refuse(json->reader(), ProblemOfWordPiece(json->reader())));
    }
    STI_ASSIGN_OR_RETURN(files_.vocabulary_text, VocabularyOf(*json));
    if (text && !SameTokens(*text, files_.vocabulary_text)) {
      notes_.Warn(lines, "has other tokens than tokenizer.json, which is read");
    }
    return {};
  }

  Result<std::string> VocabularyOf(const JsonFile& json) const {
    const ObjectReader reader = json.reader();
    STI_ASSIGN_OR_RETURN(const Json* vocabulary, FindVocabulary(reader));
    return VocabularyText(reader, *vocabulary, "model.vocab", Json::object(), model_.vocabulary);
  }

  // A token that stands twice in lines has the last id in an object, which lacks the other one.
  static bool SameTokens(std::string_view lines, std::string_view of_json) {
    const auto trimmed = [](std::string_view text) {
      while (text.ends_with("\n\n")) text.remove_suffix(1);
      return text;
    };
    if (trimmed(lines) == trimmed(of_json)) return true;
    std::map<std::string_view, uint64_t> ids;
    uint64_t id = 0;
    ForEachLine(lines, [&](std::string_view line) {
      if (!line.empty()) ids[line] = id;
      ++id;
    });
    bool same = true;
    uint64_t known = 0;
    id = 0;
    ForEachLine(of_json, [&](std::string_view line) {
      const auto found = ids.find(line);
      if (!line.empty()) {
        same = same && found != ids.end() && found->second == id;
        ++known;
      }
      ++id;
    });
    return same && known == ids.size();
  }

  [[nodiscard]] Status CheckSize() const {
    const uint64_t tokens = CountLines(files_.vocabulary_text);
    if (tokens <= model_.vocabulary) return {};
    return DataError(std::to_string(tokens) + " tokens, but vocab_size is " +
                     std::to_string(model_.vocabulary) + "; use the vocabulary of this model")
        .At(path_);
  }

  static Status Refuse(const ObjectReader& reader, const StepProblem& problem) {
    return RefuseStep(reader, problem, "BERT's");
  }

  // A generic class does what tokenizer.json says.
  Status ReadSteps() {
    const ObjectReader reader = source_.tokenizer()->reader();
    TokenizerInfo& info = files_.info;
    ControlLayout layout;
    STI_RETURN_IF_ERROR(Refuse(reader, ReadBertNormalizer(reader, &info)));
    STI_RETURN_IF_ERROR(Refuse(reader, ProblemOfBertPreTokenizer(reader)));
    STI_RETURN_IF_ERROR(Refuse(reader, ReadLayout(reader, &layout)));
    if (layout.doubled) {
      return Refuse(reader, "the post_processor puts two separators between texts");
    }
    STI_RETURN_IF_ERROR(TakeControlTokens(reader, layout, files_.vocabulary_text, &names_, &info));
    return SetTypes(layout.second_type);
  }

  // BERT's class has steps of its own, which settings change.
  Status ReadSettings() {
    TokenizerInfo& info = files_.info;
    STI_ASSIGN_OR_RETURN(info.lowercase, Switch("do_lower_case", true));
    STI_ASSIGN_OR_RETURN(info.strip_accents, Switch("strip_accents", info.lowercase));
    STI_ASSIGN_OR_RETURN(info.split_chinese, Switch("tokenize_chinese_chars", true));
    STI_RETURN_IF_ERROR(FindSpecialTokens(path_, files_.vocabulary_text, names_, &info));
    NoteDifferences();
    return SetTypes(1);
  }

  [[nodiscard]] Result<bool> Switch(const char* key, bool otherwise) const {
    STI_ASSIGN_OR_RETURN(const auto said, source_.Deciding(key).Bool(key));
    return said.value_or(otherwise);
  }

  // Says what transformers 4 takes of tokenizer.json, and of settings where there is none.
  void NoteDifferences() const {
    const JsonFile* json = source_.tokenizer();
    if (json == nullptr) {
      const ObjectReader reader = source_.Deciding("do_basic_tokenize");
      const auto basic = reader.Bool("do_basic_tokenize");
      if (basic.ok() && !basic->value_or(true)) {
        notes_.WarnOfVersions(source_.config().path, "do_basic_tokenize is false");
      }
      return;
    }
    const ObjectReader reader = json->reader();
    TokenizerInfo ignored;
    notes_.WarnOfVersions(json->path, ProblemOfWordPiece(reader));
    notes_.WarnOfVersions(json->path, ProblemOfUnknown(reader));
    notes_.WarnOfVersions(json->path, ReadBertNormalizer(reader, &ignored));
    notes_.WarnOfVersions(json->path, ProblemOfBertPreTokenizer(reader));
    const ControlLayout ours{files_.info.cls_id, files_.info.sep_id, false, 1};
    notes_.WarnOfVersions(json->path,
                          ProblemOfLayout(reader, ours, "control tokens or token types"));
  }

  [[nodiscard]] StepProblem ProblemOfUnknown(const ObjectReader& reader) const {
    const Json& model = *reader.Find("model");
    if (!model.contains("unk_token") || model["unk_token"] == names_.unknown) return {};
    return "model.unk_token is not the unk_token of the settings";
  }

  // Few families have more than one type, and not every class gives them.
  Status SetTypes(uint32_t second_type) {
    files_.info.second_type = 0;
    if (!model_.family.has_two_types) return {};
    STI_ASSIGN_OR_RETURN(const bool gives, source_.GivesTypes());
    if (gives) {
      files_.info.second_type = second_type;
    } else if (source_.is_generic() && second_type == 1 &&
               !source_.Deciding("model_input_names").Has("model_input_names")) {
      notes_.Warn(source_.config().path,
                  "no model_input_names; both texts of a pair have token type 0, as " +
                      source_.class_name() +
                      " has it in transformers 5, where in 4 the second has type 1");
    }
    return {};
  }

  const TokenizerSource& source_;
  const TokenizedModel& model_;
  const TokenizerNotes& notes_;
  SpecialNames& names_;
  TokenizerFiles& files_;
  std::string path_;  ///< of the vocabulary
};

}  // namespace

Status ReadWordPieceFiles(const TokenizerSource& source, const TokenizedModel& model,
                          const TokenizerNotes& notes, SpecialNames* names, TokenizerFiles* files) {
  return WordPieceFiles(source, model, notes, names, files).Read();
}

}  // namespace sti
