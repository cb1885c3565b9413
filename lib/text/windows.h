// How a text that is longer than a model takes at once is split into windows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"
#include "types/text_window.h"

namespace sti {

/// The most tokens of a text that is read in windows, which bounds its memory: what is behind them
/// is cut.
inline constexpr uint32_t kMostTextTokens = 65536;

/// Returns kUsage if windows of such sizes can hold no text: no piece fits beside `control_tokens`,
/// or some would be in no window.
[[nodiscard]] Status CheckWindowSizes(const WindowSizes& sizes, uint32_t control_tokens);

/// Splits a text, of a pair the second one, into the windows that hold it, in order: between words,
/// and between pieces where a word alone is longer than a window, or than the stride. A text that
/// fits is one window. DataError if the first text of a pair leaves no room for the second. The
/// sizes are sound.
Result<std::vector<TextWindow>> SplitIntoWindows(const Encoding& text, const WindowSizes& sizes);

/// Makes what a model takes of a window.
void EncodeWindow(const Encoding& text, const TextWindow& window, Encoding* encoding);

}  // namespace sti
