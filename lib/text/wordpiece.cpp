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

/// Cuts words into the longest pieces there are.
class PieceFinder {
 public:
  PieceFinder(const Vocabulary& vocabulary, uint32_t unknown_id, PieceList* pieces)
      : vocabulary_(vocabulary), unknown_id_(unknown_id), found_(*pieces) {}

  /// `word` is UTF-8, not empty, at most kMaxWordChars code points.
  void AddWord(const std::string& word) {
    pieces_.clear();
    size_t begin = 0;
    while (begin < word.size()) {
      const size_t end = AddLongest(word, begin);
      if (end == begin) return AddUnknown();
      begin = end;
    }
    for (const uint32_t id : pieces_) found_.Add(id);
    found_.EndWord();
  }
  void AddUnknown() {
    found_.Add(unknown_id_);
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
        pieces_.push_back(*id);
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
  std::vector<uint32_t> pieces_;  ///< of the word at hand
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

  void Add(char32_t code) {
    if (IsWhiteSpace(code)) return EndWord();
    if (IsPunctuation(code)) {
      EndWord();
      Append(code);
      return EndWord();
    }
    Append(code);
  }

  /// Returns how many bytes at the front of `text`, which is not normalised yet, change nothing: in
  /// a word that is too long letters and digits, between words spaces. So a line of a mebibyte that
  /// is one word, or nothing but spaces, costs little more than reading it.
  [[nodiscard]] size_t Skip(std::string_view text) const {
    const bool in_word = chars_ > WordPiece::kMaxWordChars;
    if (!in_word && chars_ > 0) return 0;
    size_t count = 0;
    while (count < text.size() && (in_word ? IsAlphanumeric(text[count]) : text[count] == ' ')) {
      ++count;
    }
    return count;
  }

  void EndWord() {
    if (chars_ > WordPiece::kMaxWordChars) {
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
    if (++chars_ <= WordPiece::kMaxWordChars) AppendUtf8(code, &word_);
  }

  PieceFinder& pieces_;
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

  /// As WordSplitter::Skip; marks that still have to find their place come before what follows.
  [[nodiscard]] size_t Skip(std::string_view text) const {
    return marks_.empty() ? words_.Skip(text) : 0;
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
    // More marks than a word may have characters make it unknown, whichever they are.
    if (marks_.size() <= WordPiece::kMaxWordChars) marks_.emplace_back(order, code);
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

/// The three stages over one text.
class WordPieceCutter : public TextCutter {
 public:
  WordPieceCutter(const Vocabulary& vocabulary, const TokenizerInfo& info, std::string_view text,
                  PieceList* pieces)
      : text_(text),
        pieces_(*pieces),
        finder_(vocabulary, info.unknown_id, pieces),
        words_(&finder_),
        normalizer_(info, &words_) {}

  bool Step() override {
    const uint64_t before = pieces_.count();
    while (!text_.empty() && pieces_.count() == before) {
      text_.remove_prefix(normalizer_.Skip(text_));
      if (!text_.empty()) normalizer_.Add(TakeCodePoint(&text_));
    }
    // The last word ends with the text, once.
    if (text_.empty()) normalizer_.Finish();
    return pieces_.count() > before;
  }

  [[nodiscard]] size_t bytes_left() const override { return text_.size(); }

 private:
  std::string_view text_;
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
