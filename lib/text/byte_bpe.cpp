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

/// Takes words off the front of a text, a long one in stretches.
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

  /// Returns whether every word was taken to its end.
  [[nodiscard]] bool ended() const {
    return stage_ == Stage::kBetween && at_.kind == CharClass::kEnd;
  }
  [[nodiscard]] size_t bytes_left() const { return at_.rest.size(); }

  /// Goes on with the word at hand, or begins the next one, which there must be: appends to `word`
  /// until that has `most` bytes or a few more, or the word ends. Returns whether it ended. What is
  /// not UTF-8 becomes U+FFFD.
  bool Take(size_t most, std::string* word) {
    if (stage_ == Stage::kBetween) {
      if (at_.code == '\'' && TakeContraction(word)) return true;
      Begin();
    }
    if (stage_ == Stage::kSpaces) TakeSpaces(most, word);
    if (stage_ == Stage::kRun) TakeRun(most, word);
    return stage_ == Stage::kBetween;
  }

 private:
  /// The next character is a word's first, white space that may belong to the next word,
  /// or of a run of one class.
  enum class Stage : uint8_t { kBetween, kSpaces, kRun };

  void Begin() {
    run_ = at_.kind;
    stage_ = Stage::kRun;
    if (at_.kind != CharClass::kSpace) return;
    stage_ = Stage::kSpaces;
    last_ = at_;
    alone_ = true;
    at_.Advance();
  }

  void TakeOne(std::string* word) {
    AppendUtf8(at_.code, word);
    at_.Advance();
  }

  bool TakeContraction(std::string* word) {
    for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"}) {
      if (!at_.rest.starts_with(ending)) continue;
      for (size_t i = 0; i <= ending.size(); ++i) TakeOne(word);
      return true;
    }
    return false;
  }

  // White space up to the last character of a run is a word. That one too if the text ends with it,
  // or if it is no space; a space belongs to the word that follows, which it begins.
  void TakeSpaces(size_t most, std::string* word) {
    while (at_.kind == CharClass::kSpace) {
      if (word->size() >= most) return;
      AppendUtf8(last_.code, word);
      alone_ = false;
      last_ = at_;
      at_.Advance();
    }
    stage_ = Stage::kBetween;
    if (at_.kind != CharClass::kEnd && !alone_) {
      at_ = last_;
      return;
    }
    AppendUtf8(last_.code, word);
    if (at_.kind == CharClass::kEnd || last_.code != ' ') return;
    run_ = at_.kind;
    stage_ = Stage::kRun;
  }

  void TakeRun(size_t most, std::string* word) {
    while (at_.kind == run_) {
      if (word->size() >= most) return;
      TakeOne(word);
    }
    stage_ = Stage::kBetween;
  }

  Cursor at_;
  Stage stage_ = Stage::kBetween;
  CharClass run_ = CharClass::kEnd;  ///< of the run at hand
  Cursor last_;                      ///< the white space before at_, which is not taken yet
  bool alone_ = true;                ///< no white space stands before it in its run
};

/// Tells of pieces, one after another, where in the text their bytes came from.
class PiecePlaces {
 public:
  /// `spaced`: as if a space stood before the text, in the place of its first character.
  PiecePlaces(std::string_view text, bool add_prefix_space, bool spaced)
      : size_(text.size()), rest_(text), add_prefix_space_(add_prefix_space) {
    if (!spaced) return;
    Advance();
    rest_ = text;
    left_ = 1;
  }

  /// Goes on behind the next piece, which has these bytes, at least one. Returns the bytes of the
  /// text that it stands for, without the spaces at its ends. One space that begins the text stays
  /// where one would have been added.
  ByteRange Take(std::string_view piece) {
    const uint64_t begin = TakeWhole(piece.size());
    const uint64_t end = rest_.size() == size_ ? 0 : end_;  // 0: the added space alone
    size_t before = std::min(piece.find_first_not_of(' '), piece.size());
    const size_t behind = piece.size() - (piece.find_last_not_of(' ') + 1);
    if (before == 1 && add_prefix_space_ && begin == 0) before = 0;
    const uint64_t said = std::min(begin + before, end);
    return RangeOf(said, std::max(said, end - std::min<uint64_t>(behind, end)));
  }

 private:
  // Returns where the character begins that the first of the bytes is of.
  uint64_t TakeWhole(size_t bytes) {
    if (left_ == 0) Advance();
    const uint64_t begin = begin_;
    while (bytes > left_) {
      bytes -= left_;
      Advance();
    }
    left_ -= bytes;
    return begin;
  }

  // Words have as many bytes as the text and its added space, and U+FFFD for what is not UTF-8.
  void Advance() {
    begin_ = size_ - rest_.size();
    const char32_t code = TakeCodePoint(&rest_);
    end_ = size_ - rest_.size();
    left_ = code == 0xFFFD ? 3 : end_ - begin_;
  }

  uint64_t size_;
  std::string_view rest_;  ///< behind the character at hand
  bool add_prefix_space_;
  uint64_t begin_ = 0;  ///< of the character at hand
  uint64_t end_ = 0;
  size_t left_ = 0;  ///< of its bytes, those that no piece had
};

uint64_t HashOf(uint32_t left, uint32_t right) {
  uint64_t mixed = (uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u;
  return mixed ^ (mixed >> 32);
}

}  // namespace

/// Joins the bytes of one word after another; keeps its memory for the next.
class WordJoiner {
  static constexpr uint64_t kMostLooks = 16;  ///< for each byte of a stretch

 public:
  WordJoiner(const ByteBpe& bpe, const PiecePlaces& places, PieceList* pieces)
      : bpe_(bpe), places_(places), pieces_(*pieces) {}

  /// Joins a word, or the last stretch of one.
  void Join(std::string_view word) {
    Begin(word);
    last_ = kEmpty;  // nothing follows
    while (!candidates_.empty()) ApplyBest();
    AddPieces();
    pieces_.EndWord();
  }

  /// Joins a stretch of a word of which more follows, and adds the pieces that are the same
  /// whatever follows. Returns how many bytes they are; the rest is the begin of another stretch.
  ///
  /// The symbols from `open_` on may become others than they are here. At first there are none, but
  /// what follows may join to the last of the others, by a merge that has it on its left. Merges
  /// are applied by rank and, of one rank, from the left: so before a merge of rank r is applied
  /// here, only such a merge of a lower rank can have been. A symbol for which there is one is open
  /// from then on, and so may be the one before it. What is not open is thus joined as in the whole
  /// word, step by step; and as no symbol of the whole word reaches over the place where `open_`
  /// ends up, the rest of the word is joined as if it began there.
  size_t JoinOpen(std::string_view stretch) {
    ChainMerges();
    Begin(stretch);
    looks_left_ = stretch.size() * kMostLooks;
    ExpectJoins();
    while (!candidates_.empty()) {
      Open(static_cast<uint32_t>(candidates_.front() >> 32));
      ApplyBest();
    }
    Open(kEmpty);
    AddPieces();
    return open_;
  }

 private:
  struct Symbol {
    uint32_t id;  ///< kEmpty once it was joined to the one before it
    uint32_t previous;
    uint32_t next;
  };

  void Begin(std::string_view stretch) {
    symbols_.clear();
    candidates_.clear();
    stretch_ = stretch;
    const auto size = static_cast<uint32_t>(stretch.size());
    open_ = size;
    last_ = size > 0 ? size - 1 : kEmpty;
    symbols_.reserve(size);
    for (uint32_t i = 0; i < size; ++i) {
      const uint32_t id = bpe_.byte_ids_[static_cast<uint8_t>(stretch[i])];
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

  void ChainMerges() {
    if (!first_merges_.empty()) return;
    first_merges_.assign(bpe_.vocabulary_.size(), kEmpty);
    next_merges_.resize(bpe_.merges_.size());
    for (size_t rank = next_merges_.size(); rank-- > 0;) {
      uint32_t& first = first_merges_[bpe_.merges_[rank].left];
      next_merges_[rank] = first;
      first = static_cast<uint32_t>(rank);
    }
  }

  void ExpectJoins() { join_ = last_ == kEmpty ? kEmpty : first_merges_[symbols_[last_].id]; }

  // Opens the symbols at the end to which a merge of a lower rank may join what follows.
  void Open(uint32_t rank) {
    while (true) {
      while (join_ < rank && !MayFollow(bpe_.merges_[join_].right)) join_ = next_merges_[join_];
      if (join_ >= rank) return;
      open_ = last_;
      last_ = symbols_[last_].previous;
      ExpectJoins();
    }
  }

  // Whether a token may come to stand at `open_`: it has to be spelled as the text is there, as far
  // as that is known. Symbols only grow, so it ends where one ends that was opened. A vocabulary
  // that makes this long is not looked at to its end: to open a symbol in vain costs no more than
  // a longer stretch.
  [[nodiscard]] bool MayFollow(uint32_t token) {
    std::string_view spelled = bpe_.vocabulary_.Token(token);
    size_t at = open_;
    for (; !spelled.empty() && at < stretch_.size(); ++at) {
      if (looks_left_ == 0) return true;
      --looks_left_;
      const char32_t here = ByteCharacter(static_cast<uint8_t>(stretch_[at]));
      if (TakeCodePoint(&spelled) != here) return false;
    }
    return at == stretch_.size() || symbols_[at].id != kEmpty;
  }

  void AddPieces() {
    for (uint32_t at = 0; at < open_; at = symbols_[at].next) {
      const size_t end = std::min<size_t>(symbols_[at].next, stretch_.size());
      pieces_.Add(symbols_[at].id, places_.Take(stretch_.substr(at, end - at)));
    }
  }

  void ApplyBest() {
    const uint64_t best = candidates_.front();
    std::pop_heap(candidates_.begin(), candidates_.end(), std::greater<>());
    candidates_.pop_back();
    Apply(static_cast<uint32_t>(best >> 32), static_cast<uint32_t>(best));
  }

  void Apply(uint32_t rank, uint32_t at) {
    Symbol& left = symbols_[at];
    if (left.id == kEmpty || left.next >= open_) return;
    Symbol& right = symbols_[left.next];
    const ByteBpe::Merge& merge = bpe_.merges_[rank];
    if (left.id != merge.left || right.id != merge.right) return;
    left.id = merge.joined;
    const bool was_last = last_ == left.next;
    left.next = right.next;
    right.id = kEmpty;
    if (was_last) {
      last_ = at;
      ExpectJoins();
    }
    if (left.next != kEmpty) {
      symbols_[left.next].previous = at;
      Push(at);
    }
    if (left.previous != kEmpty) Push(left.previous);
  }

  const ByteBpe& bpe_;
  PiecePlaces places_;
  PieceList& pieces_;
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> candidates_;  ///< a heap, the least in front
  uint32_t open_ = 0;                 ///< where the symbols begin that are not known; they stay
  uint32_t last_ = kEmpty;            ///< the symbol that ends there, if any
  std::string_view stretch_;          ///< or the word, that is joined
  uint64_t looks_left_ = 0;           ///< at bytes of tokens that may follow
  uint32_t join_ = kEmpty;  ///< the least merge that may join what follows to `last_`, or less
  /// By token the least merge that has it on its left, and by merge the next one with the same.
  std::vector<uint32_t> first_merges_;
  std::vector<uint32_t> next_merges_;
};

/// The words of one text, joined one after another.
class ByteBpeCutter : public TextCutter {
 public:
  ByteBpeCutter(const ByteBpe& bpe, const WordWalker& words, const PiecePlaces& places,
                PieceList* pieces)
      : words_(words), joiner_(bpe, places, pieces), pieces_(*pieces) {}

  bool Step() override {
    const uint64_t before = pieces_.count();
    while (!words_.ended() && pieces_.count() == before) {
      if (words_.Take(most_, &word_)) {
        joiner_.Join(word_);
        word_.clear();
        most_ = ByteBpe::kStretchBytes;
        continue;
      }
      const size_t known = joiner_.JoinOpen(word_);
      word_.erase(0, known);
      // The steps of a stretch pay for themselves where half of it is known.
      if (known < most_ / 2) most_ *= 2;
    }
    return pieces_.count() > before;
  }

  [[nodiscard]] size_t bytes_left() const override { return words_.bytes_left(); }

 private:
  WordWalker words_;
  WordJoiner joiner_;
  PieceList& pieces_;
  std::string word_;                      ///< what is not joined yet of the word at hand
  size_t most_ = ByteBpe::kStretchBytes;  ///< of it in one stretch
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

std::unique_ptr<TextCutter> ByteBpe::Cut(std::string_view text, PieceList* pieces) const {
  const bool spaced = add_prefix_space_ && !text.empty() && text.front() != ' ';
  return std::make_unique<ByteBpeCutter>(*this, WordWalker(text, spaced),
                                         PiecePlaces(text, add_prefix_space_, spaced), pieces);
}

}  // namespace sti
