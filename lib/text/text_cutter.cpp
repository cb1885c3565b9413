#include "text/text_cutter.h"

#include <algorithm>

namespace sti {
namespace {

/// The cut of texts of these lengths.
PairCut Share(uint64_t first, uint64_t second, uint64_t budget) {
  if (first + second <= budget) return {first, second, false};
  const uint64_t shorter = std::min({first, second, budget / 2});
  const uint64_t longer = budget - shorter;
  if (first > second) return {longer, shorter, true};
  return {shorter, longer, true};
}

/// Whether further pieces of texts that have not ended leave their cut as it is.
bool IsSettled(PairedText first, PairedText second, uint64_t budget) {
  if (first.ended && second.ended) return true;
  const uint64_t half = budget / 2;
  if (first.pieces > half && second.pieces > half) {
    return budget % 2 == 0 || (first.ended && second.pieces >= first.pieces) ||
           (second.ended && first.pieces > second.pieces);
  }
  const PairedText& shorter = first.pieces <= half ? first : second;
  return shorter.ended && first.pieces + second.pieces > budget;
}

}  // namespace

std::optional<PairCut> KnownPairCut(PairedText first, PairedText second, uint64_t budget) {
  if (!IsSettled(first, second, budget)) return std::nullopt;
  return Share(first.pieces, second.pieces, budget);
}

PairCut CutPair(TextCutter* first_cutter, const PieceList& first, TextCutter* second_cutter,
                const PieceList& second, uint64_t budget, bool whole) {
  bool first_ended = false;
  bool second_ended = false;
  while (true) {
    const bool both = first_ended && second_ended;
    const auto cut =
        KnownPairCut({first.count(), first_ended}, {second.count(), second_ended}, budget);
    if (cut && (both || !whole)) return *cut;
    const bool turn = second_ended || (!first_ended && first.count() <= second.count());
    if (turn) {
      first_ended = !first_cutter->Step();
    } else {
      second_ended = !second_cutter->Step();
    }
  }
}

}  // namespace sti
