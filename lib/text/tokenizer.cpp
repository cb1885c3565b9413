#include "text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "types/cascade.h"

namespace sti {
namespace {

/// How many ids of each text of a pair stay: first the longer one gives way, then both share, and
/// an odd id goes to the longer one (to the second if they are equally long).
std::pair<uint64_t, uint64_t> ShareBudget(uint64_t first, uint64_t second, uint64_t budget) {
  if (first + second <= budget) return {first, second};
  const uint64_t half = budget / 2;
  const uint64_t shorter = std::min({first, second, half});
  const uint64_t longer = budget - shorter;
  return first > second ? std::pair{longer, shorter} : std::pair{shorter, longer};
}

/// Appends a control token, of the type of what comes next.
void AppendControl(uint32_t id, Encoding* encoding) {
  encoding->ids.push_back(id);
  encoding->words.push_back(kNoWord);
}

/// Appends `count` pieces from `first` on, with words numbered from `word` on. Returns the number
/// of the word behind them.
uint32_t Append(const PieceList& pieces, uint64_t first, uint64_t count, uint32_t word,
                Encoding* encoding) {
  if (count == 0) return word;
  const auto begin = pieces.ids().begin() + static_cast<std::ptrdiff_t>(first);
  encoding->ids.insert(encoding->ids.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  const uint32_t from = pieces.words()[first];
  for (uint64_t i = 0; i < count; ++i) {
    encoding->words.push_back(word + pieces.words()[first + i] - from);
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

PieceList Tokenizer::Split(std::string_view text, uint64_t limit, bool count_all) const {
  const auto keeps = info_.cuts_begin ? PieceList::Keeps::kEnd : PieceList::Keeps::kBegin;
  return std::visit([&](const auto& model) { return model.Split(text, limit, count_all, keeps); },
                    model_);
}

const Vocabulary& Tokenizer::vocabulary() const {
  return std::visit([](const auto& model) -> const Vocabulary& { return model.vocabulary(); },
                    model_);
}

Encoding Tokenizer::Encode(std::string_view text, std::optional<std::string_view> pair,
                           uint32_t max_length) const {
  const bool doubled = info_.kind == TokenizerKind::kByteBpe;  // RoBERTa parts a pair by two
  const uint32_t control = !pair ? 2 : (doubled ? 4 : 3);
  const uint64_t budget = max_length > control ? max_length - control : 0;
  Encoding encoding;
  AppendControl(info_.cls_id, &encoding);
  // Which text of a pair is longer decides the cut, so both are counted to their end.
  const PieceList first = Split(text, budget, pair.has_value());
  if (!pair) {
    Append(first, 0, first.ids().size(), 0, &encoding);
    AppendControl(info_.sep_id, &encoding);
    encoding.types.resize(encoding.ids.size(), 0);
    encoding.truncated = first.full();
    return encoding;
  }
  const PieceList second = Split(*pair, budget, true);
  const auto [keep_first, keep_second] = ShareBudget(first.count(), second.count(), budget);
  // A list holds the begin of its text or its end, and of these as much stays.
  const auto skipped = [&](const PieceList& pieces, uint64_t kept) {
    return info_.cuts_begin ? pieces.ids().size() - kept : 0;
  };
  const uint32_t words = Append(first, skipped(first, keep_first), keep_first, 0, &encoding);
  AppendControl(info_.sep_id, &encoding);
  encoding.types.resize(encoding.ids.size(), 0);
  if (doubled) AppendControl(info_.sep_id, &encoding);
  Append(second, skipped(second, keep_second), keep_second, words, &encoding);
  AppendControl(info_.sep_id, &encoding);
  encoding.types.resize(encoding.ids.size(), info_.second_type);
  encoding.truncated = first.count() + second.count() > budget;
  return encoding;
}

}  // namespace sti
