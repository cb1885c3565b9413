#include "text/windows.h"

#include <algorithm>
#include <string>

namespace sti {
namespace {

/// The tokens of a text that windows share out.
class SplitPart {
 public:
  explicit SplitPart(const Encoding& text)
      : words_(text.words),
        begin_(text.second_begin.value_or(1)),
        end_(static_cast<uint32_t>(text.ids.size()) - 1) {}

  [[nodiscard]] uint32_t begin() const { return begin_; }
  [[nodiscard]] uint32_t end() const { return end_; }

  /// Returns the last place up to `last` where a word ends, behind `first`; `first` if there is
  /// none.
  [[nodiscard]] uint32_t LastEdge(uint32_t first, uint32_t last) const {
    while (last > first && !IsEdge(last)) --last;
    return last;
  }
  /// Returns where the window behind one begins, whose ends those are: at most `stride` behind its
  /// begin, unless that is within a word, or a window of `room` tokens from there would end where
  /// this one does.
  [[nodiscard]] uint32_t Next(uint32_t begin, uint32_t end, uint32_t stride, uint32_t room) const {
    const uint32_t latest = std::min(end, begin + stride);
    if (!IsEdge(end)) return latest;  // within a word that is longer than a window
    uint32_t next = LastEdge(begin, latest);
    if (next == begin) next = FirstEdge(latest, end);
    const uint32_t word_end = FirstEdge(end + 1, end_);
    if (word_end <= next + room) return next;
    return word_end - end > room ? end : FirstEdge(word_end - room, end);
  }

 private:
  /// Returns the first place from `first` on where a word ends, up to `last`; `last` if there is
  /// none.
  [[nodiscard]] uint32_t FirstEdge(uint32_t first, uint32_t last) const {
    while (first < last && !IsEdge(first)) ++first;
    return first;
  }
  [[nodiscard]] bool IsEdge(uint32_t token) const {
    return token == begin_ || token == end_ || words_[token] != words_[token - 1];
  }

  const std::vector<uint32_t>& words_;
  uint32_t begin_;
  uint32_t end_;
};

/// Says which tokens count in which window, of windows that have the tokens that they hold.
void ShareOut(uint32_t tokens, std::vector<TextWindow>* windows) {
  uint32_t from = 0;
  for (size_t k = 0; k < windows->size(); ++k) {
    TextWindow& window = (*windows)[k];
    window.own_begin = from;
    window.own_end = tokens;
    if (k + 1 < windows->size()) {
      // A token is as far from the middle of its window as from that of the next where twice its
      // own middle is the sum of theirs.
      const TextWindow& next = (*windows)[k + 1];
      const uint64_t sum = uint64_t{window.begin} + window.end + next.begin + next.end;
      const auto middle = static_cast<uint32_t>((sum + 2) / 4);
      window.own_end = std::clamp(middle, next.begin, window.end);
    }
    const uint32_t head = windows->front().begin;
    window.first_row = k == 0 ? 0 : head + window.own_begin - window.begin;
    from = window.own_end;
  }
}

}  // namespace

Status CheckWindowSizes(const WindowSizes& sizes, uint32_t control_tokens) {
  const std::string window = "a window of " + std::to_string(sizes.tokens) + " tokens ";
  if (sizes.tokens <= control_tokens) {
    return UsageError(window + "has no room for text beside the " + std::to_string(control_tokens) +
                      " control tokens; take at least " + std::to_string(control_tokens + 1));
  }
  if (sizes.stride == 0 || sizes.stride > sizes.tokens) {
    return UsageError(window + "has a stride of 1 to " + std::to_string(sizes.tokens) + ", not " +
                      std::to_string(sizes.stride) + ", which would leave text out");
  }
  return {};
}

Result<std::vector<TextWindow>> SplitIntoWindows(const Encoding& text, const WindowSizes& sizes) {
  const auto tokens = static_cast<uint32_t>(text.ids.size());
  const SplitPart part(text);
  const uint32_t others = part.begin() + 1;
  std::vector<TextWindow> windows;
  if (tokens > sizes.tokens && others >= sizes.tokens) {
    return DataError("the first text has " + std::to_string(part.begin()) +
                     " tokens with its control tokens, which leaves the second no room in a window "
                     "of " +
                     std::to_string(sizes.tokens));
  }
  const uint32_t room = sizes.tokens - std::min(others, sizes.tokens);
  for (uint32_t begin = part.begin();;) {
    if (tokens <= sizes.tokens || part.end() - begin <= room) {
      windows.push_back(TextWindow{begin, part.end()});
      break;
    }
    // A word that alone is longer is split between pieces.
    const uint32_t edge = part.LastEdge(begin, begin + room);
    const uint32_t end = edge > begin ? edge : begin + room;
    windows.push_back(TextWindow{begin, end});
    begin = part.Next(begin, end, sizes.stride, room);
  }
  ShareOut(tokens, &windows);
  return windows;
}

void EncodeWindow(const Encoding& text, const TextWindow& window, Encoding* encoding) {
  const uint32_t head = text.second_begin.value_or(1);
  const auto take = [&](const auto& from, auto* to) {
    to->clear();
    if (from.empty()) return;
    to->insert(to->end(), from.begin(), from.begin() + head);
    to->insert(to->end(), from.begin() + window.begin, from.begin() + window.end);
    to->push_back(from.back());
  };
  take(text.ids, &encoding->ids);
  take(text.types, &encoding->types);
  take(text.words, &encoding->words);
  take(text.offsets, &encoding->offsets);
  encoding->second_begin = text.second_begin;
  encoding->truncated = false;
}

}  // namespace sti
