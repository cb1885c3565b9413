#include "import/tokenizer_files.h"

#include <limits>
#include <utility>

#include "import/tokenizer_steps.h"
#include "network/families.h"
#include "types/limits.h"

namespace sti {
namespace {

using Json = nlohmann::json;

// Fewer tokens leave no room for the control tokens of a pair.
constexpr uint32_t kLeastLength = 4;
// From this length on transformers takes a limit for none.
constexpr double kNoLength = 1e20;
// Tables of embeddings have some rows to spare; so many are another vocabulary's.
constexpr uint64_t kManyIds = 128;

/// Returns the most tokens of an input, or 0 for as many as the model has positions.
Result<uint32_t> ReadMaxLength(const TokenizerSource& source) {
  const char* key = "model_max_length";
  if (!source.Deciding(key).Has(key)) key = "max_len";
  const ObjectReader reader = source.Deciding(key);
  const Json* value = reader.Find(key);
  if (value == nullptr) return 0;
  if (value->is_number() && value->get<double>() > kNoLength) return 0;
  if (!value->is_number_unsigned() || value->get<uint64_t>() < kLeastLength) {
    return reader.Bad(std::string(key) + " is not a whole number from " +
                      std::to_string(kLeastLength) + " on; mend the file");
  }
  const auto length = value->get<uint64_t>();
  return length > kMaxPositions ? 0 : static_cast<uint32_t>(length);
}

Result<bool> ReadCutsBegin(const TokenizerSource& source) {
  const ObjectReader reader = source.Deciding("truncation_side");
  STI_ASSIGN_OR_RETURN(const std::string side, reader.String("truncation_side", ""));
  if (side == "left" || side == "right") return side == "left";
  if (!side.empty()) {
    return reader.Bad("truncation_side is neither \"left\" nor \"right\"; mend the file");
  }
  const JsonFile* json = source.tokenizer();
  return json != nullptr && CutsBegin(json->reader()).value_or(false);
}

// Names of control tokens that are null leave none to begin or end a text with.
Status CheckNamed(const TokenizerSource& source) {
  if (source.is_generic()) return {};
  for (const char* key : {"unk_token", "cls_token", "sep_token"}) {
    const ObjectReader reader = source.Deciding(key);
    if (reader.Has(key) && reader.Find(key) == nullptr) {
      return reader.Unsupported(std::string(key) + " is null; name the token");
    }
  }
  return {};
}

void WarnOfSpareIds(const TokenizerFiles& files, const TokenizedModel& model,
                    const TokenizerSource& source, const TokenizerNotes& notes) {
  const uint64_t tokens = CountLines(files.vocabulary_text);
  if (tokens + kManyIds > model.vocabulary) return;
  notes.Warn(source.dir(), "the vocabulary has " + std::to_string(tokens) + " tokens, the model " +
                               std::to_string(model.vocabulary) +
                               " rows for them; is it the tokenizer of this model?");
}

}  // namespace

void TokenizerNotes::Warn(const std::string& path, const std::string& what) const {
  if (log_) log_({LogLevel::kWarning, path + ": " + what});
}

void TokenizerNotes::WarnOfVersions(const std::string& path, const std::string& what) const {
  if (what.empty()) return;
  Warn(path, what + "; for " + source_.class_name() +
                 " transformers 4 reads this and 5 does not: texts are read as 5 reads them");
}

Result<TokenizerFiles> ReadTokenizer(const std::string& dir, const TokenizedModel& model,
                                     const LogSink& log) {
  STI_ASSIGN_OR_RETURN(const TokenizerSource source, TokenizerSource::Open(dir, model.family));
  STI_RETURN_IF_ERROR(CheckNamed(source));
  const TokenizerNotes notes(source, log);
  TokenizerFiles files;
  SpecialNames names;
  files.info.pad_id = model.pad_id;
  const bool bpe = model.family.tokenizer_kind == TokenizerKind::kByteBpe;
  STI_RETURN_IF_ERROR(bpe ? ReadByteBpeFiles(source, model, notes, &names, &files)
                          : ReadWordPieceFiles(source, model, notes, &names, &files));
  STI_ASSIGN_OR_RETURN(files.info.max_length, ReadMaxLength(source));
  STI_ASSIGN_OR_RETURN(files.info.cuts_begin, ReadCutsBegin(source));
  STI_RETURN_IF_ERROR(CheckAddedTokens(source, files.vocabulary_text, names, notes));
  WarnOfSpareIds(files, model, source, notes);
  return files;
}

}  // namespace sti
