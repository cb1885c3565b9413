// Three stages, each feeding the next one code point at a time so that a line of a mebibyte needs
// no more memory than a short one: Normalizer (clean, decompose, strip, lower), WordSplitter
// (white space and punctuation), PieceCounter (WordPiece).

#include "text/wordpiece.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace sti {
namespace {

/// Collects pieces of words: the first `limit` ids, and how many there would be.
class PieceCounter {
 public:
  PieceCounter(const Vocabulary& vocabulary, uint32_t unknown_id, uint64_t limit)
      : vocabulary_(vocabulary), unknown_id_(unknown_id), limit_(limit) {}

  /// `word` is UTF-8, not empty, at most kMaxWordChars code points.
  void AddWord(const std::string& word) {
    pieces_.clear();
    size_t begin = 0;
    while (begin < word.size()) {
      const size_t end = AddLongest(word, begin);
      if (end == begin) return AddUnknown();
      begin = end;
    }
    for (const uint32_t id : pieces_) Add(id);
  }
  void AddUnknown() { Add(unknown_id_); }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool full() const { return count_ > limit_; }
  [[nodiscard]] const std::vector<uint32_t>& ids() const { return ids_; }

 private:
  // Returns the end of the longest token at `begin`, or `begin` if there is none.
  size_t AddLongest(const std::string& word, size_t begin) {
    key_.assign(begin == 0 ? "" : "##");
    const size_t prefix = key_.size();
    key_.append(word, begin);
    while (key_.size() > prefix) {
      if (const auto id = vocabulary_.Find(key_)) {
        pieces_.push_back(*id);
        return begin + key_.size() - prefix;
      }
      while (key_.size() > prefix && (key_.back() & 0xC0) == 0x80) key_.pop_back();
      key_.pop_back();
    }
    return begin;
  }

  void Add(uint32_t id) {
    if (count_++ < limit_) ids_.push_back(id);
  }

  const Vocabulary& vocabulary_;
  const uint32_t unknown_id_;
  const uint64_t limit_;
  uint64_t count_ = 0;
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> pieces_;  ///< of the word at hand
  std::string key_;
};

/// Joins normalised code points into words.
class WordSplitter {
 public:
  explicit WordSplitter(PieceCounter* pieces) : pieces_(*pieces) {}

  void Add(char32_t code) {
    if (IsWhiteSpace(code)) return EndWord();
    if (IsPunctuation(code)) {
      EndWord();
      Append(code);
      return EndWord();
    }
    Append(code);
  }

  void EndWord() {
    if (chars_ > Tokenizer::kMaxWordChars) {
      pieces_.AddUnknown();
    } else if (chars_ > 0) {
      pieces_.AddWord(word_);
    }
    word_.clear();
    chars_ = 0;
  }

 private:
  // The text of a word that is too long no longer matters.
  void Append(char32_t code) {
    if (++chars_ <= Tokenizer::kMaxWordChars) AppendUtf8(code, &word_);
  }

  PieceCounter& pieces_;
  std::string word_;
  uint64_t chars_ = 0;
};

/// Cleans, decomposes, strips and lowers.
class Normalizer {
 public:
  Normalizer(const TokenizerInfo& info, WordSplitter* words) : info_(info), words_(*words) {}

  void Add(char32_t code) {
    if (code == 0 || code == 0xFFFD || IsControl(code)) return;
    if (IsWhiteSpace(code)) return AddCleaned(' ');
    if (!info_.split_chinese || !IsIdeograph(code)) return AddCleaned(code);
    AddCleaned(' ');
    AddCleaned(code);
    AddCleaned(' ');
  }

  void Finish() {
    FlushMarks();
    words_.EndWord();
  }

 private:
  void AddCleaned(char32_t code) {
    if (!info_.strip_accents) return AddStripped(code);
    for (const char32_t part : Decompose(code)) AddDecomposed(part);
  }

  // Canonical order: marks between two starters stand by rising class. Those that get stripped
  // need no place in that order.
  void AddDecomposed(char32_t code) {
    const uint32_t order = CombiningClass(code);
    if (order == 0) FlushMarks();
    if (IsNonspacingMark(code)) return;
    if (order == 0) return AddStripped(code);
    marks_.emplace_back(order, code);
  }

  void FlushMarks() {
    if (marks_.empty()) return;
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [order, code] : marks_) AddStripped(code);
    marks_.clear();
  }

  void AddStripped(char32_t code) {
    if (!info_.lowercase) return words_.Add(code);
    for (const char32_t part : Lowercase(code)) words_.Add(part);
  }

  const TokenizerInfo& info_;
  WordSplitter& words_;
  std::vector<std::pair<uint32_t, char32_t>> marks_;  ///< (combining class, code point)
};

/// Runs all stages; stops early once the text cannot fit, unless the true count is needed.
PieceCounter Tokenize(std::string_view text, const Vocabulary& vocabulary,
                      const TokenizerInfo& info, uint64_t limit, bool count_all) {
  PieceCounter pieces(vocabulary, info.unknown_id, limit);
  WordSplitter words(&pieces);
  Normalizer normalizer(info, &words);
  while (!text.empty() && (count_all || !pieces.full())) normalizer.Add(TakeCodePoint(&text));
  normalizer.Finish();
  return pieces;
}

/// How many ids of each text of a pair stay: first the longer one gives way, then both share, and
/// an odd id goes to the longer one (to the second if they are equally long).
std::pair<uint64_t, uint64_t> ShareBudget(uint64_t first, uint64_t second, uint64_t budget) {
  if (first + second <= budget) return {first, second};
  const uint64_t half = budget / 2;
  const uint64_t shorter = std::min({first, second, half});
  const uint64_t longer = budget - shorter;
  return first > second ? std::pair{longer, shorter} : std::pair{shorter, longer};
}

void Append(const PieceCounter& pieces, uint64_t count, uint32_t type, uint32_t sep_id,
            Encoding* encoding) {
  encoding->ids.insert(encoding->ids.end(), pieces.ids().begin(),
                       pieces.ids().begin() + static_cast<std::ptrdiff_t>(count));
  encoding->ids.push_back(sep_id);
  encoding->types.resize(encoding->ids.size(), type);
}

}  // namespace

Tokenizer::Tokenizer(Vocabulary vocabulary, const TokenizerInfo& info)
    : vocabulary_(std::move(vocabulary)), info_(info) {}

Encoding Tokenizer::Encode(std::string_view text, std::optional<std::string_view> pair,
                           uint32_t max_length) const {
  const uint32_t control = pair ? 3 : 2;
  const uint64_t budget = max_length > control ? max_length - control : 0;
  Encoding encoding;
  encoding.ids.push_back(info_.cls_id);
  // Which text of a pair is longer decides the cut, so both are counted to their end.
  const auto first = Tokenize(text, vocabulary_, info_, budget, pair.has_value());
  if (!pair) {
    Append(first, first.ids().size(), 0, info_.sep_id, &encoding);
    encoding.truncated = first.full();
    return encoding;
  }
  const auto second = Tokenize(*pair, vocabulary_, info_, budget, true);
  const auto [keep_first, keep_second] = ShareBudget(first.count(), second.count(), budget);
  Append(first, keep_first, 0, info_.sep_id, &encoding);
  Append(second, keep_second, 1, info_.sep_id, &encoding);
  encoding.truncated = first.count() + second.count() > budget;
  return encoding;
}

}  // namespace sti
