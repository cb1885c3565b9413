// A cutter makes pieces of a text a stretch at a time, so that a caller can stop where the rest of
// the text changes nothing, and go on in two texts by turns.
#pragma once

#include <cstddef>

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

}  // namespace sti
