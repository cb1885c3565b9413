// The input of a session: a text as ids, to be answered or continued, or an image as values,
// whichever its model takes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/session.h"
#include "base/clock.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace sti {

/// An image as a model takes it (image/image_file.h).
struct ImageValues {
  std::vector<float> values;  ///< [channels, size, size]
};

/// A text that is to be continued by up to `most` tokens.
struct Prompt {
  Encoding text;
  uint32_t most = 1;
};

using SessionInput = std::variant<Encoding, ImageValues, Prompt>;

/// Makes of an input as a caller has it, a text, ids or the path of an image, what its session is
/// asked, or says what is wrong with it.
using InputReader =
    std::function<Result<SessionInput>(const Session& session, const std::string& input)>;

/// Runs one input, as Session::Ask does; a prompt to the end of its continuation.
[[nodiscard]] inline Status Ask(Session& session, const SessionInput& input,
                                Clock::time_point taken, Answer* answer) {
  if (const auto* prompt = std::get_if<Prompt>(&input)) {
    const auto goes_on = [](uint32_t, std::string_view) { return true; };
    return session.Generate(prompt->text, prompt->most, taken, goes_on, answer);
  }
  if (const auto* image = std::get_if<ImageValues>(&input))
    return session.Ask(*image, taken, answer);
  return session.Ask(std::get<Encoding>(input), taken, answer);
}

}  // namespace sti
