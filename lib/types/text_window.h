// Windows of a text that is longer than a model takes at once: each is a run of its own, between
// control tokens of its own, and they overlap. Of the tokens of a text each counts in one window,
// the one in whose middle it is nearest (text/windows.h).
#pragma once

#include <cstdint>

namespace sti {

/// Says how long texts are read. Plain data.
struct WindowSizes {
  uint32_t tokens = 0;  ///< the most of a window, control tokens included
  uint32_t stride = 0;  ///< a window begins at most so many tokens behind the one before

  friend bool operator==(const WindowSizes&, const WindowSizes&) = default;
};

/// Returns the stride of windows for which none is named: half of one, so that each token but those
/// at the ends of a text has as much text around it in some window.
constexpr uint32_t UsualStride(uint32_t tokens) { return tokens < 2 ? 1 : tokens / 2; }

/// One window of a text, in the numbers of the text's tokens (Encoding), control tokens included.
/// Beside its part of the text it has the tokens before the text that is split (of a pair, the
/// first text), and the control token behind all. Plain data.
struct TextWindow {
  uint32_t begin = 0;  ///< the first token of its part
  uint32_t end = 0;    ///< the one behind the last
  /// The tokens that count in this window; each of the text counts in one. The first window has
  /// those before the text that is split, the last one the control token behind it.
  uint32_t own_begin = 0;
  uint32_t own_end = 0;
  uint32_t first_row = 0;  ///< the place of `own_begin` among the window's own tokens
};

}  // namespace sti
