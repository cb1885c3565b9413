// Which pieces of the two texts of a pair stay where both do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "text/piece_list.h"
#include "text/text_cutter.h"

namespace sti {

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
