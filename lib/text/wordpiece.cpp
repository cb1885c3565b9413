// Three stages, each feeding the next one code point at a time so that a line of a mebibyte needs
// no more memory than a short one: Normalizer (clean, decompose, strip, lower), WordSplitter
// (white space and punctuation), PieceFinder (WordPiece).

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace sti {
namespace {

/// Bytes of the text from `begin` to `end`.
struct Source {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// The bytes of the text that a word came of. Most words came byte by byte of bytes in a row, so
/// that only where they begin is kept; of others there is the code point that each byte came of.
class WordPlaces {
 public:
  void Clear() {
    size_ = 0;
    sources_.clear();
  }
  /// Says that the next `bytes` bytes of the word came of `source`.
  void Add(size_t bytes, Source source) {
    if (size_ == 0) begin_ = source.begin;
    const bool in_row = source.begin == begin_ + size_ && source.end == source.begin + bytes;
    if (!in_row || !sources_.empty()) AddApart(bytes, source);
    size_ += bytes;
  }
  /// Returns what the bytes `begin` to `end` of the word came of, which are whole code points and
  /// one at least.
  [[nodiscard]] Source Of(size_t begin, size_t end) const {
    if (sources_.empty()) return {begin_ + begin, begin_ + end};
    return {sources_[begin].begin, sources_[end - 1].end};
  }

 private:
  // A byte of those in a row may stand for itself: pieces end with code points.
  void AddApart(size_t bytes, Source source) {
    if (sources_.empty()) {
      for (size_t i = 0; i < size_; ++i) sources_.push_back({begin_ + i, begin_ + i + 1});
    }
    sources_.resize(size_ + bytes, source);
  }

  uint64_t begin_ = 0;
  size_t size_ = 0;              ///< bytes of the word
  std::vector<Source> sources_;  ///< [bytes of the word], or empty: they are in a row
};

/// Cuts words into the longest pieces there are.
class PieceFinder {
 public:
  PieceFinder(const Vocabulary& vocabulary, uint32_t unknown_id, PieceList* pieces)
      : vocabulary_(vocabulary), unknown_id_(unknown_id), found_(*pieces) {}

  /// `word` is UTF-8, not empty, at most kMaxWordChars code points.
  void AddWord(const std::string& word, const WordPlaces& places) {
    pieces_.clear();
    size_t begin = 0;
    while (begin < word.size()) {
      const size_t end = AddLongest(word, begin);
      if (end == begin) return AddUnknown(places.Of(0, word.size()));
      const Source source = places.Of(begin, end);
      pieces_.back().bytes = RangeOf(source.begin, source.end);
      begin = end;
    }
    for (const Piece& piece : pieces_) found_.Add(piece.id, piece.bytes);
    found_.EndWord();
  }
  void AddUnknown(Source word) {
    found_.Add(unknown_id_, RangeOf(word.begin, word.end));
    found_.EndWord();
  }

 private:
  // Returns the end of the longest token at `begin`, or `begin` if there is none.
  size_t AddLongest(const std::string& word, size_t begin) {
    key_.assign(begin == 0 ? "" : "##");
    const size_t prefix = key_.size();
    key_.append(word, begin);
    while (key_.size() > prefix) {
      if (const auto id = vocabulary_.Find(key_)) {
        pieces_.push_back({.id = *id});
        return begin + key_.size() - prefix;
      }
      while (key_.size() > prefix && (key_.back() & 0xC0) == 0x80) key_.pop_back();
      key_.pop_back();
    }
    return begin;
  }

  const Vocabulary& vocabulary_;
  const uint32_t unknown_id_;
  PieceList& found_;
  std::vector<Piece> pieces_;  ///< of the word at hand
  std::string key_;
};

// ASCII alone: each becomes one character of a word, whatever stands beside it.
bool IsAlphanumeric(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

/// Joins normalised code points into words.
class WordSplitter {
 public:
  explicit WordSplitter(PieceFinder* pieces) : pieces_(*pieces) {}

  /// Adds a code point, which came of the bytes `source`.
  void Add(char32_t code, Source source) {
    if (IsWhiteSpace(code)) return EndWord();
    if (IsPunctuation(code)) {
      EndWord();
      Append(code, source);
      return EndWord();
    }
    Append(code, source);
  }

  /// Passes over the bytes at the front of `text`, which is not normalised yet and begins at `at`,
  /// that change nothing: in a word that is too long letters and digits, between words spaces. So a
  /// line of a mebibyte that is one word, or nothing but spaces, costs little more than reading it.
  /// Returns how many they are.
  size_t Skip(std::string_view text, uint64_t at) {
    const bool in_word = chars_ > WordPiece::kMaxWordChars;
    if (!in_word && chars_ > 0) return 0;
    size_t count = 0;
    while (count < text.size() && (in_word ? IsAlphanumeric(text[count]) : text[count] == ' ')) {
      ++count;
    }
    if (count > 0) end_ = at + count;
    return count;
  }

  void EndWord() {
    if (chars_ > WordPiece::kMaxWordChars) {
      pieces_.AddUnknown({places_.Of(0, 1).begin, end_});
    } else if (chars_ > 0) {
      pieces_.AddWord(word_, places_);
    }
    word_.clear();
    places_.Clear();
    chars_ = 0;
  }

 private:
  // The text of a word that is too long no longer matters.
  void Append(char32_t code, Source source) {
    end_ = source.end;
    if (++chars_ > WordPiece::kMaxWordChars) return;
    const size_t before = word_.size();
    AppendUtf8(code, &word_);
    places_.Add(word_.size() - before, source);
  }

  PieceFinder& pieces_;
  std::string word_;
  WordPlaces places_;
  uint64_t chars_ = 0;
  uint64_t end_ = 0;  ///< of the bytes that the word came of, where it is too long
};

/// Cleans, decomposes, strips and lowers.
class Normalizer {
 public:
  Normalizer(const TokenizerInfo& info, WordSplitter* words) : info_(info), words_(*words) {}

  void Add(char32_t code, Source source) {
    if (code == 0 || code == 0xFFFD || IsControl(code)) return;
    if (IsWhiteSpace(code)) return AddCleaned(' ', source);
    if (!info_.split_chinese || !IsIdeograph(code)) return AddCleaned(code, source);
    AddCleaned(' ', source);
    AddCleaned(code, source);
    AddCleaned(' ', source);
  }

  /// As WordSplitter::Skip; marks that still have to find their place come before what follows.
  size_t Skip(std::string_view text, uint64_t at) {
    return marks_.empty() ? words_.Skip(text, at) : 0;
  }

  void Finish() {
    FlushMarks();
    words_.EndWord();
  }

 private:
  struct Mark {
    uint32_t order = 0;  ///< the combining class
    char32_t code = 0;
  };

  void AddCleaned(char32_t code, Source source) {
    if (!info_.strip_accents) return AddStripped(code, source);
    for (const char32_t part : Decompose(code)) AddDecomposed(part, source);
  }

  // Canonical order: marks between two starters stand by rising class. Those that get stripped
  // need no place in that order.
  void AddDecomposed(char32_t code, Source source) {
    const uint32_t order = CombiningClass(code);
    if (order == 0) FlushMarks();
    if (IsNonspacingMark(code)) return;
    if (order == 0) return AddStripped(code, source);
    // More marks than a word may have characters make it unknown, whichever they are. Of those
    // that have no place the last one ends the word.
    if (marks_.size() <= WordPiece::kMaxWordChars) {
      marks_.push_back({order, code});
      mark_sources_.push_back(source);
    }
    mark_sources_.back() = source;
  }

  // Marks change places, but the bytes that they came of do not: ranges of tokens rise.
  void FlushMarks() {
    if (marks_.empty()) return;
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const Mark& a, const Mark& b) { return a.order < b.order; });
    for (size_t i = 0; i < marks_.size(); ++i) AddStripped(marks_[i].code, mark_sources_[i]);
    marks_.clear();
    mark_sources_.clear();
  }

  void AddStripped(char32_t code, Source source) {
    if (!info_.lowercase) return words_.Add(code, source);
    for (const char32_t part : Lowercase(code)) words_.Add(part, source);
  }

  const TokenizerInfo& info_;
  WordSplitter& words_;
  std::vector<Mark> marks_;           ///< since the last starter
  std::vector<Source> mark_sources_;  ///< [marks_], in the order of the text
};

/// The three stages over one text.
class WordPieceCutter : public TextCutter {
 public:
  WordPieceCutter(const Vocabulary& vocabulary, const TokenizerInfo& info, std::string_view text,
                  PieceList* pieces)
      : text_(text),
        rest_(text),
        pieces_(*pieces),
        finder_(vocabulary, info.unknown_id, pieces),
        words_(&finder_),
        normalizer_(info, &words_) {}

  bool Step() override {
    const uint64_t before = pieces_.count();
    while (!rest_.empty() && pieces_.count() == before) {
      rest_.remove_prefix(normalizer_.Skip(rest_, at()));
      if (rest_.empty()) break;
      const uint64_t begin = at();
      const char32_t code = TakeCodePoint(&rest_);
      normalizer_.Add(code, {begin, at()});
    }
    // The last word ends with the text, once.
    if (rest_.empty()) normalizer_.Finish();
    return pieces_.count() > before;
  }

  [[nodiscard]] size_t bytes_left() const override { return rest_.size(); }

 private:
  [[nodiscard]] uint64_t at() const { return text_.size() - rest_.size(); }

  std::string_view text_;
  std::string_view rest_;  ///< what is not looked at yet
  PieceList& pieces_;
  PieceFinder finder_;
  WordSplitter words_;
  Normalizer normalizer_;
};

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, const TokenizerInfo& info)
    : vocabulary_(std::move(vocabulary)), info_(info) {}

std::unique_ptr<TextCutter> WordPiece::Cut(std::string_view text, PieceList* pieces) const {
  return std::make_unique<WordPieceCutter>(vocabulary_, info_, text, pieces);
}

}  // namespace sti
