// Lines of input, as the options say how they are to be read.
#pragma once

#include <string>

#include "api/session.h"
#include "base/result.h"
#include "options.h"

namespace sti {

/// Returns the ids of a line as the options read it: text, two texts with a tab between them, or
/// ids. An error is the line's own: others can be used.
Result<Encoding> EncodeLine(const RunOptions& options, const Session& session,
                            const std::string& line);

/// Returns the error of an input that was asked if others can be used nevertheless, as it is that
/// input's own, or a read failed; null otherwise.
const Error* OwnErrorOf(const Status& asked);

}  // namespace sti
