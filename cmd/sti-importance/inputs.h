// An output that is one of the inputs would replace it without a word.
#pragma once

#include <string>

#include "base/result.h"

namespace sti {

/// UsageError if `output` and `input` are the same file, by whatever names; `role` says what the
/// input is. stdin and stdout ("-") are no files.
Status CheckKeepsInput(const std::string& output, const std::string& input,
                       const std::string& role);

}  // namespace sti
