#include "text/model_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/remedy.h"

namespace sti {
namespace {

Error NoVocabulary(const Error& error, const std::string& file) {
  return Error(error).At(file).Fix(Remedy::kUseOwnVocabulary);
}

Result<Vocabulary> MakeVocabulary(std::string text, const ContainerIndex& index,
                                  const std::string& file) {
  auto vocabulary = Vocabulary::FromText(std::move(text));
  if (!vocabulary.ok()) return NoVocabulary(vocabulary.error(), file);
  // Tables of embeddings may have rows to spare; an id must not lack its row.
  if (vocabulary->size() > index.info.shape.vocabulary) {
    return DataError("vocabulary has " + std::to_string(vocabulary->size()) +
                     " tokens, the model " + std::to_string(index.info.shape.vocabulary))
        .At(file)
        .Fix(Remedy::kMakeModelAgain);
  }
  return vocabulary;
}

}  // namespace

Result<TokenizerParts> ReadTokenizerParts(ContainerFile& file) {
  TokenizerParts parts;
  STI_ASSIGN_OR_RETURN(parts.vocabulary, file.ReadText(ResidentKind::kVocabulary));
  if (file.index().info.tokenizer.kind == TokenizerKind::kByteBpe) {
    STI_ASSIGN_OR_RETURN(parts.merges, file.ReadText(ResidentKind::kMerges));
  }
  return parts;
}

Result<Tokenizer> MakeTokenizer(TokenizerParts parts, const ContainerIndex& index,
                                const std::string& file) {
  STI_ASSIGN_OR_RETURN(Vocabulary vocabulary,
                       MakeVocabulary(std::move(parts.vocabulary), index, file));
  auto tokenizer = Tokenizer::Create(std::move(vocabulary), parts.merges, index.info.tokenizer);
  if (tokenizer.ok()) return tokenizer;
  return NoVocabulary(tokenizer.error(), file);
}

Result<Tokenizer> LoadTokenizer(ContainerFile& file) {
  STI_ASSIGN_OR_RETURN(TokenizerParts parts, ReadTokenizerParts(file));
  return MakeTokenizer(std::move(parts), file.index(), file.name());
}

Result<Vocabulary> LoadVocabulary(ContainerFile& file) {
  STI_ASSIGN_OR_RETURN(std::string text, file.ReadText(ResidentKind::kVocabulary));
  return MakeVocabulary(std::move(text), file.index(), file.name());
}

uint64_t TokenizerBytes(const ContainerIndex& index) {
  if (!index.info.has_text()) return 0;
  constexpr uint64_t kLeastMergeBytes = 4;  // "a b" and the end of its line
  const uint64_t tokens = index.info.shape.vocabulary;
  const uint64_t bytes =
      Vocabulary::BytesFor(tokens, index.Resident(ResidentKind::kVocabulary).raw_length);
  if (index.info.tokenizer.kind != TokenizerKind::kByteBpe) return bytes;
  const uint64_t merge_text = index.Resident(ResidentKind::kMerges).raw_length;
  return bytes + ByteBpe::MergeBytesFor(std::min(tokens, merge_text / kLeastMergeBytes));
}

}  // namespace sti
