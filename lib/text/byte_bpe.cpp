// Two stages: WordWalker cuts the text by GPT-2's pattern,
//
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// by hand and in one pass; WordJoiner merges the bytes of a word. A heap of candidates, of which
// stale ones are dropped as they come up, keeps a word of a mebibyte from taking quadratic time.

#include "text/byte_bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

#include "base/byte_spelling.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "types/limits.h"

namespace sti {
namespace {

uint64_t SlotsFor(uint64_t merges) { return std::bit_ceil(merges + merges / 2 + 1); }

constexpr uint32_t kEmpty = 0xFFFFFFFFu;

enum class CharClass : uint8_t { kSpace, kLetter, kNumber, kOther, kEnd };

/// A character of a text and what lies behind it.
struct Cursor {
  std::string_view rest;
  char32_t code = 0;
  CharClass kind = CharClass::kEnd;

  void Advance() {
    kind = CharClass::kEnd;
    if (rest.empty()) return;
    code = TakeCodePoint(&rest);
    kind = IsWhiteSpace(code) ? CharClass::kSpace
           : IsLetter(code)   ? CharClass::kLetter
           : IsNumber(code)   ? CharClass::kNumber
                              : CharClass::kOther;
  }
};

/// Takes words off the front of a text.
class WordWalker {
 public:
  /// `spaced`: as if a space stood before the text.
  WordWalker(std::string_view text, bool spaced) : at_{text} {
    if (spaced) {
      at_.code = ' ';
      at_.kind = CharClass::kSpace;
    } else {
      at_.Advance();
    }
  }

  /// False at the end; else `word` is the next word, with U+FFFD for what is not UTF-8.
  bool Next(std::string* word) {
    word->clear();
    if (at_.kind == CharClass::kEnd) return false;
    if (at_.code == '\'' && TakeContraction(word)) return true;
    if (at_.kind == CharClass::kSpace && !TakeSpaces(word)) return true;
    for (const CharClass run = at_.kind; at_.kind == run;) Take(word);
    return true;
  }

 private:
  void Take(std::string* word) {
    AppendUtf8(at_.code, word);
    at_.Advance();
  }

  bool TakeContraction(std::string* word) {
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      if (!at_.rest.starts_with(ending)) continue;
      for (size_t i = 0; i <= ending.size(); ++i) Take(word);
      return true;
    }
    return false;
  }

  // White space up to the last character of a run is a word. That one too if the text ends with it,
  // or if it is no space; a space belongs to the word that follows. True in this last case.
  bool TakeSpaces(std::string* word) {
    Cursor last = at_;
    at_.Advance();
    while (at_.kind == CharClass::kSpace) {
      AppendUtf8(last.code, word);
      last = at_;
      at_.Advance();
    }
    if (at_.kind != CharClass::kEnd && !word->empty()) {
      at_ = last;
      return false;
    }
    AppendUtf8(last.code, word);
    return at_.kind != CharClass::kEnd && last.code == ' ';
  }

  Cursor at_;
};

uint64_t HashOf(uint32_t left, uint32_t right) {
  uint64_t mixed = (uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u;
  return mixed ^ (mixed >> 32);
}

}  // namespace

/// Joins the bytes of one word after another; keeps its memory for the next.
class WordJoiner {
 public:
  explicit WordJoiner(const ByteBpe& bpe) : bpe_(bpe) {}

  void Join(std::string_view word, PieceList* pieces) {
    Begin(word);
    while (!candidates_.empty()) {
      const uint64_t best = candidates_.front();
      std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
      candidates_.pop_back();
      Apply(static_cast<uint32_t>(best >> 32), static_cast<uint32_t>(best));
    }
    for (uint32_t at = 0; at != kEmpty; at = symbols_[at].next) pieces->Add(symbols_[at].id);
    pieces->EndWord();
  }

 private:
  struct Symbol {
    uint32_t id;  ///< kEmpty once it was joined to the one before it
    uint32_t previous;
    uint32_t next;
  };

  void Begin(std::string_view word) {
    symbols_.clear();
    candidates_.clear();
    const auto size = static_cast<uint32_t>(word.size());
    symbols_.reserve(size);
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t id = bpe_.byte_ids_[static_cast<uint8_t>(word[i])];
      symbols_.push_back({id, i > 0 ? i - 1 : kEmpty, i + 1 < size ? i + 1 : kEmpty});
    }
    for (uint32_t i = 0; i + 1 < size; ++i) AddCandidate(i);
    std::make_heap(candidates_.begin(), candidates_.end(), std::greater<>());
  }

  // A candidate is a rank, then the place of its left symbol: the order they are taken in.
  bool AddCandidate(uint32_t at) {
    const auto rank = bpe_.RankOf(symbols_[at].id, symbols_[symbols_[at].next].id);
    if (rank) candidates_.push_back(uint64_t{*rank} << 32 | at);
    return rank.has_value();
  }

  void Push(uint32_t at) {
    if (AddCandidate(at)) {
      std::push_heap(candidates_.begin(), candidates_.end(), std::greater<>());
    }
  }

  void Apply(uint32_t rank, uint32_t at) {
    Symbol& left = symbols_[at];
    if (left.id == kEmpty || left.next == kEmpty) return;
    Symbol& right = symbols_[left.next];
    const ByteBpe::Merge& merge = bpe_.merges_[rank];
    if (left.id != merge.left || right.id != merge.right) return;
    left.id = merge.joined;
    left.next = right.next;
    right.id = kEmpty;
    if (left.next != kEmpty) {
      symbols_[left.next].previous = at;
      Push(at);
    }
    if (left.previous != kEmpty) Push(left.previous);
  }

  const ByteBpe& bpe_;
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> candidates_;  ///< a heap, the least in front
};

Result<ByteBpe> ByteBpe::Create(Vocabulary vocabulary, std::string_view merges,
                                bool add_prefix_space) {
  ByteBpe bpe(std::move(vocabulary));
  bpe.add_prefix_space_ = add_prefix_space;
  STI_RETURN_IF_ERROR(bpe.FindBytes());
  while (!merges.empty()) {
    const size_t newline = std::min(merges.find('\n'), merges.size());
    STI_RETURN_IF_ERROR(bpe.AddMerge(merges.substr(0, newline)));
    merges.remove_prefix(std::min(newline + 1, merges.size()));
  }
  bpe.merges_.shrink_to_fit();
  STI_RETURN_IF_ERROR(bpe.BuildTable());
  return bpe;
}

Status ByteBpe::FindBytes() {
  for (uint32_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const auto id = vocabulary_.Find(ByteSpelling(static_cast<uint8_t>(byte)));
    if (!id) {
      return DataError("no token for byte " + std::to_string(byte) + ", so it is no byte-level BPE")
          .At("vocabulary");
    }
    byte_ids_[byte] = *id;
  }
  return {};
}

Status ByteBpe::AddMerge(std::string_view line) {
  const auto bad = [&](const std::string& what) {
    return DataError("line " + std::to_string(merges_.size() + 1) + " " + what).At("merges");
  };
  if (merges_.size() == kMaxMerges) return bad("is one too many");
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return bad("is not two tokens");
  std::string joined(line.substr(0, space));
  const auto left = vocabulary_.Find(joined);
  const auto right = vocabulary_.Find(line.substr(space + 1));
  const auto both = vocabulary_.Find(joined.append(line.substr(space + 1)));
  if (!left || !right || !both) return bad("is of or into what is no token");
  merges_.push_back({*left, *right, *both});
  return {};
}

uint64_t ByteBpe::merge_bytes() const {
  return merges_.capacity() * sizeof(Merge) + slots_.capacity() * sizeof(uint32_t);
}

uint64_t ByteBpe::MergeBytesFor(uint64_t merges) {
  return merges * sizeof(Merge) + SlotsFor(merges) * sizeof(uint32_t);
}

Status ByteBpe::BuildTable() {
  slots_.assign(SlotsFor(merges_.size()), kEmpty);
  for (uint32_t rank = 0; rank < merges_.size(); ++rank) {
    uint32_t& slot = slots_[SlotOf(merges_[rank].left, merges_[rank].right)];
    if (slot != kEmpty) {
      return DataError("line " + std::to_string(rank + 1) + " stands twice").At("merges");
    }
    slot = rank;
  }
  return {};
}

// The slot that holds this merge, or the empty slot where it would go. A third of the table at
// least is empty, so the walk ends.
size_t ByteBpe::SlotOf(uint32_t left, uint32_t right) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = HashOf(left, right) & mask;
  while (slots_[slot] != kEmpty &&
         (merges_[slots_[slot]].left != left || merges_[slots_[slot]].right != right)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::optional<uint32_t> ByteBpe::RankOf(uint32_t left, uint32_t right) const {
  const uint32_t rank = slots_[SlotOf(left, right)];
  if (rank == kEmpty) return std::nullopt;
  return rank;
}

PieceList ByteBpe::Split(std::string_view text, uint64_t limit, bool count_all,
                         PieceList::Keeps keeps) const {
  PieceList pieces(limit, keeps);
  const bool spaced = add_prefix_space_ && !text.empty() && text.front() != ' ';
  WordWalker words(text, spaced);
  WordJoiner joiner(*this);
  std::string word;
  while ((count_all || !pieces.done()) && words.Next(&word)) joiner.Join(word, &pieces);
  pieces.Finish();
  return pieces;
}

}  // namespace sti
