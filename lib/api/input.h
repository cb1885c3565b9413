// The input of a session: a text as ids, or an image as values, whichever its model takes.
#pragma once

#include <functional>
#include <string>
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

using SessionInput = std::variant<Encoding, ImageValues>;

/// Makes of an input as a caller has it, a text, ids or the path of an image, what its session is
/// asked, or says what is wrong with it.
using InputReader =
    std::function<Result<SessionInput>(const Session& session, const std::string& input)>;

/// Runs one input, as Session::Ask does.
[[nodiscard]] inline Status Ask(Session& session, const SessionInput& input,
                                Clock::time_point taken, Answer* answer) {
  return std::visit([&](const auto& of) { return session.Ask(of, taken, answer); }, input);
}

}  // namespace sti
