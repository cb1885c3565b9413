// A cutter makes pieces of a text a stretch at a time, so that a caller can stop where the rest of
// the text changes nothing, and go on in two texts by turns. The pieces go to a list, as tokenizers
// of both kinds collect them. Of the two texts of a pair some pieces stay where both do not fit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "types/byte_range.h"

namespace sti {

/// Cuts one text, whose pieces go to a list that the cutter was made with. Both the text and the
/// list outlive it. For one thread.
class TextCutter {
 public:
  virtual ~TextCutter() = default;
  TextCutter(const TextCutter&) = delete;
  TextCutter& operator=(const TextCutter&) = delete;

  /// Goes on until there is a further piece: those of a word or of two, or of a part of a long one.
  /// Returns false, with nothing added, once the text has ended and all its pieces are in the list.
  virtual bool Step() = 0;

  /// Returns how many bytes of the text it has not looked at.
  [[nodiscard]] virtual size_t bytes_left() const = 0;

 protected:
  TextCutter() = default;
};

/// A piece of a text. Plain data.
struct Piece {
  uint32_t id = 0;       ///< the token
  uint32_t word = 0;     ///< counted from 0 in its text
  ByteRange bytes = {};  ///< of the text that it stands for (Encoding::offsets)
};

/// Collects the pieces of one text, word by word: the first `limit` of them, or the last, and how
/// many there would be. Memory is that of `limit` pieces.
class PieceList {
 public:
  enum class Keeps : uint8_t { kBegin, kEnd };
  explicit PieceList(uint64_t limit, Keeps keeps = Keeps::kBegin) : limit_(limit), keeps_(keeps) {}

  /// Says that the pieces from here on are of the next word.
  void EndWord() { ++word_; }

  void Add(uint32_t id, ByteRange bytes) {
    const uint64_t at = count_++;
    const Piece piece{id, word_, bytes};
    if (at < limit_) pieces_.push_back(piece);
    if (at >= limit_ && keeps_ == Keeps::kEnd && limit_ > 0) pieces_[at % limit_] = piece;
  }

  /// Puts the pieces that are kept in order, once all were added.
  void Finish() {
    if (keeps_ != Keeps::kEnd || count_ <= limit_ || limit_ == 0) return;
    std::rotate(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(count_ % limit_),
                pieces_.end());
  }

  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] bool full() const { return count_ > limit_; }  ///< some did not fit
  /// Returns whether no further piece changes what is kept, nor whether some did not fit.
  [[nodiscard]] bool done() const { return full() && keeps_ == Keeps::kBegin; }
  /// Returns the pieces that are kept.
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  uint64_t limit_;
  Keeps keeps_;
  uint64_t count_ = 0;
  uint32_t word_ = 0;
  std::vector<Piece> pieces_;
};

/// How many pieces of each text stay.
struct PairCut {
  uint64_t first = 0;
  uint64_t second = 0;
  bool truncated = false;  ///< fewer than there are

  friend bool operator==(const PairCut&, const PairCut&) = default;
};

/// How far a text has been cut into pieces.
struct PairedText {
  uint64_t pieces = 0;  ///< up to here
  bool ended = false;   ///< there are no others
};

/// Returns how a pair shares room for `budget` pieces, once what is known of its texts settles it:
/// first the longer one gives way, then both share, and an odd piece goes to the longer one (to the
/// second if they are equally long).
///
/// Where both have more than half of the budget, an even one is halved, however long they are. Of
/// an odd one the true lengths decide who has the odd piece, so the shorter text has to be known to
/// its end: lengths that are counted up to the budget alone make two long texts equally long, and
/// give the piece to the second where the first is longer. Where a text ends within half of the
/// budget, of the other matters only whether it has more than what is left.
std::optional<PairCut> KnownPairCut(PairedText first, PairedText second, uint64_t budget);

/// Cuts both texts by turns, the one with fewer pieces first, until the cut is known: at the latest
/// one word behind the last piece that settles it. `whole` goes on to their ends, which the last
/// pieces of a text are known by.
PairCut CutPair(TextCutter* first_cutter, const PieceList& first, TextCutter* second_cutter,
                const PieceList& second, uint64_t budget, bool whole);

}  // namespace sti
