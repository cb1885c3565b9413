// The files of a byte-level BPE: vocab.json and merges.txt, or both in tokenizer.json.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "import/folder_file.h"
#include "import/tokenizer_files.h"
#include "import/tokenizer_source.h"
#include "import/tokenizer_steps.h"
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

class ByteBpeFiles {
 public:
  ByteBpeFiles(const TokenizerSource& source, const TokenizedModel& model,
               const TokenizerNotes& notes, SpecialNames* names, TokenizerFiles* files)
      : source_(source), model_(model), notes_(notes), names_(*names), files_(*files) {}

  Status Read() {
    const std::string end = "<|endoftext|>";  // GPT-2's only control token
    names_ = model_.family.has_frame
                 ? SpecialNames{"<unk>", "<s>", "</s>", "<pad>", "<mask>", "<s>", "</s>"}
                 : SpecialNames{end, end, end, end, end, end, end};
    files_.info.kind = TokenizerKind::kByteBpe;
    STI_RETURN_IF_ERROR(source_.ReadNames(&names_));
    STI_RETURN_IF_ERROR(ReadVocabulary());
    STI_RETURN_IF_ERROR(CheckBytes(path_, files_.vocabulary_text));
    files_.info.second_type = 0;
    if (!model_.family.has_frame) STI_RETURN_IF_ERROR(CheckNoFrame());
    return source_.is_generic() ? ReadSteps() : ReadSettings();
  }

 private:
  // Vocabulary and merges of tokenizer.json come before those of other files, whatever the class.
  Status ReadVocabulary() {
    const std::string vocabulary = source_.dir() + "/vocab.json";
    const std::string merges = source_.dir() + "/merges.txt";
    const JsonFile* json = source_.tokenizer();
    const bool apart = IsFile(vocabulary) && IsFile(merges);
    STI_RETURN_IF_ERROR(source_.CheckVocabulary(apart, "vocab.json with merges.txt"));
    path_ = json == nullptr ? vocabulary : json->path;
    if (json != nullptr) {
      STI_RETURN_IF_ERROR(ReadJson(*json));
      if (apart) CompareWith(vocabulary, merges);
      return {};
    }
    return ReadApart(vocabulary, merges, &files_);
  }

  Status ReadApart(const std::string& vocabulary, const std::string& merges,
                   TokenizerFiles* files) const {
    STI_ASSIGN_OR_RETURN(const Json json, ReadJsonFile(vocabulary));
    STI_ASSIGN_OR_RETURN(files->vocabulary_text,
                         VocabularyText(ObjectReader(vocabulary, json), json, "the vocabulary",
                                        Json::object(), model_.vocabulary));
    STI_ASSIGN_OR_RETURN(files->merges_text, ReadMergesText(merges, files->vocabulary_text));
    return {};
  }

  // Files that are not read need not be sound; but they should say the same.
  void CompareWith(const std::string& vocabulary, const std::string& merges) const {
    TokenizerFiles other;
    const Status read = ReadApart(vocabulary, merges, &other);
    const std::string_view ours = files_.vocabulary_text;
    if (!read.ok() || !ours.starts_with(other.vocabulary_text)) {
      notes_.Warn(vocabulary, "has other tokens than tokenizer.json, which is read");
    } else if (other.merges_text != files_.merges_text) {
      notes_.Warn(merges, "has other merges than tokenizer.json, which is read");
    }
  }

  Status ReadJson(const JsonFile& json) {
    const ObjectReader reader = json.reader();
    Result<const Json*> found = FindVocabulary(reader);
    // The kind of a file without a vocabulary says more than that it has none.
    if (!found.ok() || source_.is_generic()) {
      STI_RETURN_IF_ERROR(Refuse(reader, ProblemOfBpe(reader)));
    }
    STI_ASSIGN_OR_RETURN(const Json* vocabulary, std::move(found));
    STI_ASSIGN_OR_RETURN(const Json added, AddedTokens(reader, *vocabulary));
    STI_ASSIGN_OR_RETURN(files_.vocabulary_text, VocabularyText(reader, *vocabulary, "model.vocab",
                                                                added, model_.vocabulary));
    return ReadMerges(reader, *reader.Find("model"));
  }

  // Tokens beyond the model's own, by id; CheckAddedTokens judges them.
  [[nodiscard]] static Result<Json> AddedTokens(const ObjectReader& reader,
                                                const Json& vocabulary) {
    Json added = Json::object();
    const Json* list = reader.Find("added_tokens");
    if (list == nullptr) return added;
    if (!list->is_array()) return reader.Bad("added_tokens is not a list; get a sound copy");
    for (const Json& token : *list) {
      const bool sound = token.is_object() && token.contains("content") &&
                         token["content"].is_string() && token.contains("id");
      if (!sound) return reader.Bad("added_tokens has what is no token; get a sound copy");
      const auto& content = token["content"].get_ref<const std::string&>();
      if (!vocabulary.contains(content)) added[content] = token["id"];
    }
    return added;
  }

  [[nodiscard]] Status ReadMerges(const ObjectReader& reader, const Json& model) {
    if (!model.contains("merges") || !model["merges"].is_array()) {
      return reader.Bad("model.merges is not a list; get a sound copy");
    }
    MergeList merges(path_, files_.vocabulary_text);
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
    files_.merges_text = merges.Take();
    return {};
  }

  [[nodiscard]] Status Refuse(const ObjectReader& reader, const StepProblem& problem) const {
    return RefuseStep(reader, problem, model_.family.has_frame ? "RoBERTa's" : "GPT-2's");
  }

  // Texts of a family without a frame have no control tokens around them.
  [[nodiscard]] Status CheckNoFrame() const {
    for (const char* key : {"add_bos_token", "add_eos_token"}) {
      STI_ASSIGN_OR_RETURN(const auto adds, source_.Deciding(key).Bool(key));
      if (adds.value_or(false)) {
        return source_.Deciding(key).Unsupported(std::string(key) +
                                                 " is true; only false is supported");
      }
    }
    return {};
  }

  // A generic class does what tokenizer.json says.
  Status ReadSteps() {
    const ObjectReader reader = source_.tokenizer()->reader();
    ControlLayout layout;
    STI_RETURN_IF_ERROR(Refuse(reader, ProblemOfNormalizer(reader)));
    STI_RETURN_IF_ERROR(Refuse(reader, ReadByteLevel(reader, &files_.info)));
    if (model_.family.has_frame) {
      STI_RETURN_IF_ERROR(Refuse(reader, ReadLayout(reader, &layout)));
      if (!layout.doubled) {
        return Refuse(reader, "the post_processor puts one separator between texts");
      }
    } else {
      STI_RETURN_IF_ERROR(Refuse(reader, ProblemOfFrame(reader)));
    }
    const ObjectReader settings = source_.Deciding("add_prefix_space");
    const auto space = settings.Bool("add_prefix_space");
    if (space.ok() &&
        space->value_or(files_.info.add_prefix_space) != files_.info.add_prefix_space) {
      notes_.WarnOfVersions(source_.config().path,
                            "add_prefix_space is not that of tokenizer.json");
    }
    if (!model_.family.has_frame)
      return FindSpecialTokens(path_, files_.vocabulary_text, names_, &files_.info);
    return TakeControlTokens(reader, layout, files_.vocabulary_text, &names_, &files_.info);
  }

  // RoBERTa's class has steps of its own, which settings change.
  Status ReadSettings() {
    TokenizerInfo& info = files_.info;
    STI_ASSIGN_OR_RETURN(const auto space,
                         source_.Deciding("add_prefix_space").Bool("add_prefix_space"));
    info.add_prefix_space = space.value_or(false);
    STI_RETURN_IF_ERROR(FindSpecialTokens(path_, files_.vocabulary_text, names_, &info));
    const JsonFile* json = source_.tokenizer();
    if (json == nullptr) return {};
    const ObjectReader reader = json->reader();
    TokenizerInfo ignored;
    notes_.WarnOfVersions(json->path, ProblemOfBpe(reader));
    notes_.WarnOfVersions(json->path, ProblemOfNormalizer(reader));
    notes_.WarnOfVersions(json->path, ReadByteLevel(reader, &ignored));
    if (!model_.family.has_frame) {
      notes_.WarnOfVersions(json->path, ProblemOfFrame(reader));
      return {};
    }
    const ControlLayout ours{info.cls_id, info.sep_id, true, 0};
    notes_.WarnOfVersions(json->path, ProblemOfLayout(reader, ours, "control tokens"));
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

Status ReadByteBpeFiles(const TokenizerSource& source, const TokenizedModel& model,
                        const TokenizerNotes& notes, SpecialNames* names, TokenizerFiles* files) {
  return ByteBpeFiles(source, model, notes, names, files).Read();
}

}  // namespace sti
