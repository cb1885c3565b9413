#include "text/tokenizer.h"

#include <span>
#include <utility>

#include "base/utf8.h"
#include "text/text_cutter.h"
#include "types/cascade.h"

namespace sti {
namespace {

size_t CountCodePoints(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) TakeCodePoint(&text);
  return count;
}

/// Appends a control token, of the type of what comes next, where texts stand between such.
void AppendControl(const TokenizerInfo& info, uint32_t id, Encoding* encoding) {
  if (!info.has_frame) return;
  encoding->ids.push_back(id);
  encoding->words.push_back(kNoWord);
  encoding->offsets.emplace_back();
}

/// Appends `count` pieces from `first` on, with words numbered from `word` on. Returns the number
/// of the word behind them.
uint32_t Append(const PieceList& list, uint64_t first, uint64_t count, uint32_t word,
                Encoding* encoding) {
  if (count == 0) return word;
  const std::span<const Piece> pieces = std::span(list.pieces()).subspan(first, count);
  const size_t tokens = encoding->ids.size() + count + 1;  // and a control token
  encoding->ids.reserve(tokens);
  encoding->words.reserve(tokens);
  encoding->offsets.reserve(tokens);
  for (const Piece& piece : pieces) {
    encoding->ids.push_back(piece.id);
    encoding->words.push_back(word + piece.word - pieces.front().word);
    encoding->offsets.push_back(piece.bytes);
  }
  return encoding->words.back() + 1;
}

}  // namespace

Result<Tokenizer> Tokenizer::Create(Vocabulary vocabulary, std::string_view merges,
                                    const TokenizerInfo& info) {
  if (info.kind == TokenizerKind::kWordPiece) return Tokenizer(std::move(vocabulary), info);
  STI_ASSIGN_OR_RETURN(ByteBpe bpe,
                       ByteBpe::Create(std::move(vocabulary), merges, info.add_prefix_space));
  return Tokenizer(std::move(bpe), info);
}

Tokenizer::Tokenizer(Vocabulary vocabulary, const TokenizerInfo& info)
    : model_(WordPiece(std::move(vocabulary), info)), info_(info) {}

uint64_t Tokenizer::memory_bytes() const {
  const auto* bpe = std::get_if<ByteBpe>(&model_);
  return vocabulary().memory_bytes() + (bpe == nullptr ? 0 : bpe->merge_bytes());
}

std::unique_ptr<TextCutter> Tokenizer::Cut(std::string_view text, PieceList* pieces) const {
  return std::visit([&](const auto& model) { return model.Cut(text, pieces); }, model_);
}

const Vocabulary& Tokenizer::vocabulary() const {
  return std::visit([](const auto& model) -> const Vocabulary& { return model.vocabulary(); },
                    model_);
}

Encoding Tokenizer::Encode(std::string_view text, std::optional<std::string_view> pair,
                           uint32_t max_length) const {
  const uint32_t control = info_.control_tokens(pair.has_value());
  const uint64_t budget = max_length > control ? max_length - control : 0;
  const auto keeps = info_.cuts_begin ? PieceList::Keeps::kEnd : PieceList::Keeps::kBegin;
  PieceList first(budget, keeps);
  const auto first_cutter = Cut(text, &first);
  Encoding encoding;
  AppendControl(info_, info_.cls_id, &encoding);
  if (!pair) {
    while (!first.done() && first_cutter->Step()) {
    }
    first.Finish();
    Append(first, 0, first.pieces().size(), 0, &encoding);
    AppendControl(info_, info_.sep_id, &encoding);
    encoding.types.resize(encoding.ids.size(), 0);
    encoding.truncated = first.full();
    return encoding;
  }
  PieceList second(budget, keeps);
  const auto second_cutter = Cut(*pair, &second);
  const PairCut cut =
      CutPair(first_cutter.get(), first, second_cutter.get(), second, budget, info_.cuts_begin);
  first.Finish();
  second.Finish();
  // A list holds the begin of its text or its end, and of these as much stays.
  const auto skipped = [&](const PieceList& list, uint64_t kept) {
    return info_.cuts_begin ? list.pieces().size() - kept : 0;
  };
  const uint32_t words = Append(first, skipped(first, cut.first), cut.first, 0, &encoding);
  AppendControl(info_, info_.sep_id, &encoding);
  encoding.types.resize(encoding.ids.size(), 0);
  if (control == 4) AppendControl(info_, info_.sep_id, &encoding);
  encoding.second_begin = static_cast<uint32_t>(encoding.ids.size());
  Append(second, skipped(second, cut.second), cut.second, words, &encoding);
  AppendControl(info_, info_.sep_id, &encoding);
  encoding.types.resize(encoding.ids.size(), info_.second_type);
  encoding.truncated = cut.truncated;
  return encoding;
}

std::vector<TextToken> TextTokensOf(const Encoding& encoding) {
  std::vector<TextToken> tokens;
  for (uint32_t i = 0; i < encoding.ids.size(); ++i) {
    if (encoding.words[i] == kNoWord) continue;
    const bool continues = !encoding.continues_word.empty() && encoding.continues_word[i];
    tokens.push_back({.row = i, .bytes = encoding.offsets[i], .continues_word = continues});
  }
  return tokens;
}

void Tokenizer::MarkContinuations(std::string_view text, Encoding* encoding) const {
  const auto continues = [&](uint32_t id, const ByteRange& at) {
    if (info_.kind == TokenizerKind::kWordPiece) {
      return CountCodePoints(vocabulary().Token(id)) !=
             CountCodePoints(text.substr(at.begin, at.size()));
    }
    const auto is_space = [&](uint64_t place) { return place < text.size() && text[place] == ' '; };
    return at.begin > 0 && !is_space(at.begin - 1) && !is_space(at.begin);
  };
  encoding->continues_word.assign(encoding->ids.size(), false);
  for (size_t i = 0; i < encoding->ids.size(); ++i) {
    const uint32_t id = encoding->ids[i];
    if (encoding->words[i] == kNoWord || id == info_.unknown_id) continue;
    encoding->continues_word[i] = continues(id, encoding->offsets[i]);
  }
}

}  // namespace sti
